"""Experiments with a ball and with a disk with masses inside."""

from rolling_robotics.experiments import CONTACT, of_robot

SHIFT, RADIUS = 0.02, 0.3  # where the disk is and how it is turned are one: it has rolled there
TURN = round(SHIFT / RADIUS, 4)
BALL = (
    of_robot(
        'point_mass_ball',
        'A ball rolls along an S by moving three masses on rails inside.',
        'point_mass_s_path.yaml',
        *CONTACT,
        position=(0.02, 0.01),
        rotation=(0.03, 0.03, 0.0),
    ),
)
DISK = (
    of_robot(
        'point_mass_disk',
        'A disk rolls straight ahead from rest to rest by moving two masses on rails inside.',
        'point_mass_disk_straight.yaml',
        *CONTACT,
        position=(SHIFT, 0.0),
        rotation=(0.0, TURN, 0.0),
    ),
)
