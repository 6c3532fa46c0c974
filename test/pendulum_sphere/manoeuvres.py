"""The manoeuvre that planner, feedback and benchmark share: twenty swings round five obstacles."""

from rolling_dynamics.pendulum_sphere import paper_parameters
from rolling_planner.gait_planner import Circle, GaitProblem, Waypoint

COURSE = (
    (1.0, 0.3),
    (2.0, -0.3),
    (3.0, 0.4),
    (4.0, 0.0),
    (5.0, 0.5),
    (5.2, 1.5),
    (4.6, 2.4),
    (3.6, 1.8),
    (2.6, 2.4),
    (1.6, 1.9),
    (0.6, 2.5),
    (-0.4, 2.0),
    (-0.9, 1.1),
    (-0.3, 0.5),
    (0.2, 1.1),
    (1.0, 1.0),
    (1.8, 1.1),
)
OBSTACLES = (
    ((1.5, 0.25), 0.12),
    ((2.5, 0.6), 0.2),
    ((4.4, 0.9), 0.2),
    ((3.1, 2.7), 0.15),
    ((0.0, 1.6), 0.15),
)


def course(params=None, **options):
    return GaitProblem(
        params=params or paper_parameters(),
        start=(0.0, 0.0),
        waypoints=[Waypoint(position=p) for p in COURSE],
        obstacles=[Circle(center=c, radius=r) for c, r in OBSTACLES],
        **options,
    )
