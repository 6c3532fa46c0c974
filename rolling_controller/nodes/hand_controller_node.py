"""Controllers of a hand with an object on it: of plans, and of the laboratory's experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import PoseStamped
from rolling_controller.design import CONTACT_OPTIONS, design_law
from rolling_controller.law import Following
from rolling_controller.nodes.controller_parameters import TABLE
from rolling_controller.nodes.execution_node import Equipped, ExecutionNode
from rolling_controller.nodes.hand import Hand
from rolling_controller.nodes.laboratory_controller_node import LaboratoryControllerNode
from rolling_controller.nodes.planner_client import Replanner
from rolling_controller.nodes.prediction import Prediction, WORLD
from rolling_controller.time_varying_lqr import prepare_regulator
from rolling_controller.tracker import HAND_UNCOUNTED
from rolling_dynamics.contact.contact_view import StateSource
from rolling_dynamics.errors import quoted, RollingError
from rolling_dynamics.scenario_model import load_model
from rolling_node_kit.suite_node import Health, SuiteNode
from rolling_planner.plan import Plan


class HandControllerNode(ExecutionNode):
    """Lifecycle node with the action server ``execute_plan``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._prediction = Prediction(self)
        self._replanner: Replanner

    def equip(self) -> Equipped:
        """Load the scenario and create the topics of the hand."""
        model = load_model(self.values['scenario_file'])
        self._model = model
        contact_h = model.start[model.system.state.slice('contact_h')]
        source = StateSource(model.system, model.params, contact_h)
        hand = Hand(self, self.values, source, model.system.state, model.control_limits)
        self._hand = hand
        self._prediction.create(model.system, model.params)
        self.at_cleanup(self._prediction.destroy)
        self._replanner = Replanner(self)
        self.at_cleanup(self._replanner.destroy)
        return Equipped(model, hand, uncounted=HAND_UNCOUNTED)

    def warm_up(self) -> None:
        """Compile the regulator."""
        prepare_regulator(self._model.system)

    def design(self, plan: Plan, interrupted: Callable[[], bool]) -> Following:
        """Return the regulator along a plan, or the plan played back."""
        weights = (
            None
            if self.values['open_loop']
            else {entry.name: self.values[entry.name] for entry in CONTACT_OPTIONS}
        )
        simulated = self.get_parameter('use_sim_time').value
        following = design_law(
            self._model,
            plan,
            weights,
            interrupted,
            law=self.values['law'],
            policy_file=self.values['policy_file'],
            beside=not simulated,
            ask=self._replanner.ask,
            patience=self._equipment.timeout if simulated else 0.0,
            safe=self._hand.safe,
        )
        self._prediction.show(following.law)
        return following

    def move_goal(self, pose: PoseStamped) -> str | None:
        """Lead the object of an execution under the predictive law elsewhere."""
        pursuit, place = self._prediction.pursuit, pose.pose.position
        if pursuit is None or self._execution is None:
            return None
        if pose.header.frame_id not in ('', WORLD):
            return f'refused: frame_id must be {WORLD!r}, got {quoted(pose.header.frame_id)}'
        try:
            pursuit.pursue({'p_WO_x': place.x, 'p_WO_y': place.y}, alone=True)
        except RollingError as error:
            return f'refused: {error}'
        return f'the motion that goes on is led to ({place.x:.4g}, {place.y:.4g}) m'

    def health(self) -> Health:
        """Return progress, and how predictions come along."""
        return self._prediction.health(*super().health())


def controller(given: Mapping[str, Any]) -> type[SuiteNode]:
    """Return the controller of experiments where parameters name one, else that of plans."""
    return LaboratoryControllerNode if given.get('experiment') else HandControllerNode
