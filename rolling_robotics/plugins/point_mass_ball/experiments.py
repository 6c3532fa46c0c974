"""Experiments with a ball and with a disk with masses inside."""

from rolling_robotics.experiments import CONTACT, of_robot

BALL = (
    of_robot(
        'point_mass_ball',
        'A ball rolls along an S by moving three masses on rails inside.',
        'point_mass_s_path.yaml',
        *CONTACT,
        demo='rolling_robotics.plugins.point_mass_ball.demo:BALL',
    ),
)
DISK = (
    of_robot(
        'point_mass_disk',
        'A disk rolls straight ahead from rest to rest by moving two masses on rails inside.',
        'point_mass_disk_straight.yaml',
        *CONTACT,
        demo='rolling_robotics.plugins.point_mass_ball.demo:DISK',
    ),
)
