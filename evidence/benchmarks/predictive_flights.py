"""
The pushed ball through ROS: plans executed by the predictive law, with a goal that moves.

Each flight plans a motion, executes it under ``law:=predictive``, moves the goal by `goal_pose` on
the way, and strikes the ball by `simulator/push` later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import tempfile
from typing import Any

from evidence.benchmarks.row import Row
from geometry_msgs.msg import PoseStamped, Vector3
import numpy as np
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.qos import EVENT
from rolling_robotics.demo.clock import in_simulated_time
from rolling_robotics.demo.run import brought_up, LOCKSTEP_TIMEOUT, START_TIMEOUT
from rolling_robotics.experiments import find_experiment
from rolling_robotics.nodes.client import Client

FLIGHTS = 12
GOAL = {
    'u_h': 0.0,
    'v_h': -0.033,
    'q_HO_w': 0.5**0.5,
    'q_HO_x': 0.5**0.5,
    'q_HO_y': 0.0,
    'q_HO_z': 0.0,
}
HORIZON = 2.0  # s
MOVED_AT, PUSHED_AT = 0.6, 1.5  # s of the plan
MOVED, PUSH = 0.08, 0.05  # m from the middle, m/s
TIMEOUT = 120.0
PATIENCE = 25.0  # of the controller for a new plan, in simulated time [s]


class _Disturber(Client):
    """A client that moves the goal and strikes the object while a plan is executed."""

    def equip(self) -> None:
        """Create the topics."""
        self._goals = self._node.create_publisher(PoseStamped, 'goal_pose', EVENT)
        self._pushes = self._node.create_publisher(Vector3, 'simulator/push', EVENT)
        self.place, self.push = np.zeros(2), np.zeros(2)

    def follow(
        self,
        plan: RollingPlan,
        on_feedback: Callable[[ExecutePlan.Feedback], None],
        timeout: float,
        on_start: Callable[[], None] = lambda: None,
    ) -> ExecutePlan.Result:
        """Have a plan executed with what disturbs it; see :class:`Client`."""
        pending = [(MOVED_AT, self._move), (PUSHED_AT, self._strike)]

        def disturb(message: ExecutePlan.Feedback) -> None:
            on_feedback(message)
            while pending and message.time >= pending[0][0]:
                pending.pop(0)[1]()

        return super().follow(plan, disturb, timeout, on_start)

    def _move(self) -> None:
        message = PoseStamped()
        message.pose.position.x, message.pose.position.y = self.place.tolist()
        self._goals.publish(message)

    def _strike(self) -> None:
        x, y = self.push.tolist()
        self._pushes.publish(Vector3(x=x, y=y))


def rows() -> Iterator[Row]:
    """Yield how many flights came to the goal that moved."""
    sim = in_simulated_time(None)
    overrides: dict[str, dict[str, Any]] = {'controller': {'law': 'predictive'}}
    if sim:
        overrides['simulator'] = {'lockstep_timeout': LOCKSTEP_TIMEOUT}
        overrides['controller']['state_timeout'] = PATIENCE
    rng, flown = np.random.default_rng(0), []
    with (
        tempfile.TemporaryDirectory() as folder,
        brought_up(
            Path(folder),
            f'{FLIGHTS} flights',
            experiment=find_experiment('ball_on_plate'),
            use_sim_time=sim,
            overrides=overrides,
        ) as (domain, bringup),
        _Disturber(domain=domain, check=bringup.check) as client,
    ):
        client.wait_until_served(START_TIMEOUT)
        for _ in range(FLIGHTS):
            flown.append(_flown(client, *rng.uniform(0.0, 2 * np.pi, 2)))
            print(f'    {flown[-1][1]}', flush=True)
    name = f'flights of {FLIGHTS} through ROS that reached a goal that moved, pushed'
    against = 'simulated time' if sim else 'wall-clock time'
    yield Row(
        name, sum(reached for reached, _ in flown), goal=f'at least {FLIGHTS}', reference=against
    )


def _flown(client: _Disturber, aside: float, heading: float) -> tuple[bool, str]:
    """Return whether a flight reached its goal, and what is reported of it."""
    client.place = MOVED * np.array([np.cos(aside), np.sin(aside)])
    client.push = PUSH * np.array([np.cos(heading), np.sin(heading)])
    client.reset((0.0, 0.0), (0.0, 0.0, 0.0))
    plan = client.plan(GOAL, HORIZON, lambda _: None, TIMEOUT)
    if plan.error_code:
        return False, f'no plan: {plan.error_string}'
    run = client.follow(plan.plan, lambda _: None, TIMEOUT)
    text = f'code {run.error_code} {run.error_string}, goal error {run.final_error:.3g}'
    return run.error_code == ExecutePlan.Result.NONE, text
