"""The experiment with a ball balancer: an emulated rig and a law that answers its camera."""

from rolling_robotics.experiments import CONTROLLER, Experiment, SIMULATOR


def rig_experiment(name: str, text: str, *more: str, laws: tuple[str, ...] = ()) -> Experiment:
    """Return the experiment with a ball that servos move; ``more`` are topics to be recorded."""
    return Experiment(
        name=name,
        text=text,
        nodes=(SIMULATOR, CONTROLLER),
        scenario_file=f'{name}.yaml',
        recorded=(
            'robot/state',
            'servo_command',
            'controller/steps',
            'controller/settings',
            'vision/object_pose',
            'set_point',
            'goal_pose',
            *more,
            'simulator/surfaces',
            'simulator/markers',
            'robot_description',
            '/tf',
            '/diagnostics',
        ),
        laws=laws,
        demo=f'rolling_robotics.plugins.{name}.demo:DEMO',
    )


EXPERIMENTS = (
    rig_experiment(
        'ball_balancer',
        'A ball on a plate tilted by servos is moved to set points, measured by a camera.',
        laws=('predictive', 'lqr', 'pid', 'exported'),
    ),
)
LABYRINTH = (
    rig_experiment(
        'labyrinth',
        'A ball is guided through a labyrinth, past walls and holes, measured by a camera.',
        'plan/object_path',
    ),
)
