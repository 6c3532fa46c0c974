"""The experiment with a sphere that rolls and spins."""

from rolling_robotics.experiments import of_robot

EXPERIMENTS = (
    of_robot(
        'spin_rolling',
        'A ball on a fingertip rolls and spins to another place and attitude.',
        'spin_rolling_plan.yaml',
        demo='rolling_robotics.plugins.spin_rolling_sphere.demo:DEMO',
    ),
)
