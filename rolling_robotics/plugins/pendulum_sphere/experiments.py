"""The experiment with a sphere with a pendulum."""

from rolling_robotics.experiments import CONTACT, of_robot

EXPERIMENTS = (
    of_robot(
        'pendulum_sphere',
        'A sphere drives through a course of waypoints and obstacles by swings of its pendulum.',
        'pendulum_course.yaml',
        *CONTACT,
        demo='rolling_robotics.plugins.pendulum_sphere.demo:DEMO',
    ),
)
