"""Robots, their plans, and how they are perturbed, for tests in lockstep and through ROS."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rolling_dynamics.scenario import load_scenario
from rolling_planner import Plan, plan_rolling
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import read_gait_problem
from rolling_planner.problem.scenario import read_problem
from rolling_planner.spin_rolling.motion import read_spin_rolling_problem
from rolling_planner.spin_rolling.planner import plan_spin_rolling

BALL = """\
system: point_mass_ball
ball: {mass: 1, radius: 0.3, inertia: 0.04}
masses:
  - {mass: 1, rail: {kind: circle, radius: 0.2}, theta: -pi/2}
friction: {mu: 0.5}
initial: {}
duration: 3
limits: {theta_acceleration: 100}
plan:
  goal: {p: [1, 0], theta: [-pi/2+1/0.3]}
  goal_tolerance: 0.001
  segments: 40
"""
DISK = """\
system: point_mass_disk
disk: {mass: 1, radius: 0.3, polar_inertia: 0.04}
masses:
  - {mass: 1, rail: {kind: circle, radius: 0.2}, theta: -pi/2}
friction: {mu: 0.5}
initial: {}
duration: 3
limits: {theta_acceleration: 100}
plan:
  goal: {p: [1], theta: [-pi/2+1/0.3], phi: -1/0.3}
  goal_tolerance: 0.001
  segments: 40
"""
SPHERE = """\
system: pendulum_sphere
floor: {mu: 0.6}
duration: 3
plan:
  waypoints: [{position: [0.5, 0.1]}, {position: [0.9, 0.5]}]
  limits: {torque: 0.6}
"""
SPIN = """\
system: spin_rolling_sphere
radius: 0.02
inputs: {angular_velocity: [0, 0, 0]}
initial: {u_s: 0.005, v_o: 0.2}
duration: 1
plan:
  goal: {u_s: -0.005, v_s: 0.01, u_o: -0.5, v_o: -0.3, psi: pi/2}
  bounds: {delta: 0.05}
"""
PURE = """\
system: spin_rolling_sphere
radius: 0.3
inputs: {angular_velocity: [0, 0, 0]}
duration: 1
plan:
  goal: {u_o: 0.4, v_o: 0.3, psi: 1}
  mode: pure_rolling
  bounds: {delta: 0.4}
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    A robot and what is asked of its feedback.

    Attributes
    ----------
    text
        Its scenario.
    planned
        Makes its plan.
    position, rotation
        How it is shifted on the floor [m] and turned about its own axes [rad] at the start.
    better
        How many times smaller than without feedback the error at the end has to be.
    settle
        How long the feedback goes on after the plan [s].
    rate
        Of the loop [Hz].

    """

    text: str
    planned: Callable[..., Plan]
    position: tuple[float, float]
    rotation: tuple[float, float, float]
    better: float
    settle: float = 0.0
    rate: float = 250.0

    def load(self, folder: Path):
        """Return the scenario, written to a file in a folder, and its path."""
        path = folder / 'robot.yaml'
        path.write_text(self.text)
        return load_scenario(path), path


def _collocated(scenario):
    return plan_rolling(read_problem(scenario))


CASES = {
    'ball': Case(
        text=BALL,
        planned=_collocated,
        position=(0.03, 0.0),
        rotation=(0.0, 0.1, 0.0),
        better=100.0,
    ),
    'disk': Case(
        text=DISK,
        planned=_collocated,
        position=(0.03, 0.0),
        rotation=(0.0, 0.1, 0.0),
        better=100.0,
    ),
    'pendulum': Case(
        text=SPHERE,
        planned=lambda s: plan_gaits(read_gait_problem(s)).to_plan(),
        position=(0.05, -0.05),
        rotation=(0.0, 0.0, 0.0),
        better=5.0,
        settle=3.0,
        rate=150.0,
    ),
    'spin_rolling': Case(
        text=SPIN,
        planned=lambda s: plan_spin_rolling(read_spin_rolling_problem(s)),
        position=(1e-3, -1e-3),
        rotation=(0.05, 0.05, 0.05),
        better=100.0,
    ),
    'pure_rolling': Case(
        text=PURE,
        planned=lambda s: plan_spin_rolling(read_spin_rolling_problem(s)),
        position=(0.01, -0.01),
        rotation=(0.05, 0.05, 0.05),
        better=100.0,
    ),
}
