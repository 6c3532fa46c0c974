"""The experiment with a labyrinth: an emulated board, and a law that takes the ball through it."""

from rolling_robotics.plugins.ball_balancer.experiments import rig_experiment

EXPERIMENTS = (
    rig_experiment(
        'labyrinth',
        'A ball is taken through a labyrinth, past walls and holes, by what a camera sees.',
        'plan/object_path',
    ),
)
