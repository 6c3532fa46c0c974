"""The experiment with a ball with masses inside."""

from rolling_robotics.experiments import CONTACT, of_robot

EXPERIMENTS = (
    of_robot(
        'point_mass_ball',
        'A ball rolls along an S by moving three masses on rails inside.',
        'point_mass_s_path.yaml',
        *CONTACT,
        demo='rolling_robotics.plugins.point_mass_ball.demo:DEMO',
    ),
)
