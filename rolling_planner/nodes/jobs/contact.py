"""Plans of an object on a hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import casadi as ca
import numpy as np
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.nodes.jobs.collocation import CollocationPlanner
from rolling_planner.nodes.jobs.system_planner import Bodies, ODOMETRY, PlanningModel
from rolling_planner.plan import Plan
from rolling_planner.problem.object_motion import OBJECT_ENTRIES

OBJECT_MOTION = tuple(
    Entry(
        name,
        tuple(f'{name}_{c}' for c in ('wxyz' if size == 4 else 'xyz')),
        '',
        kind='quaternion' if size == 4 else 'vector',
    )
    for name, size in OBJECT_ENTRIES.items()
)


class ContactPlanner(CollocationPlanner):
    """See :class:`SystemPlanner`; a goal may also name the object's motion in the world."""

    state_stream = ODOMETRY
    bodies_named = ('hand', 'object')

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise RollingError unless the representation is the one that the nodes speak."""
        name = contact_system(scenario).representation.name
        if name != 'attitude':
            raise ParameterError(f"representation must be 'attitude' for the nodes, got {name!r}")
        super().check_scenario(scenario)

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the entries of the state and of the object's motion."""
        return (*super().goal_entries(scenario), *OBJECT_MOTION)

    def warm_up(self, model: PlanningModel, job: Mapping[str, Any]) -> None:
        """Write out and compile the functions of a plan and of its bodies."""
        super().warm_up(model, job)
        compiled(_sampling(contact_system(model.scenario)))

    def bodies(self, model: PlanningModel, plan: Plan) -> Bodies:
        """Return the motion of hand and object."""
        system = contact_system(model.scenario)
        sample = compiled(_sampling(system))[0].map(len(plan.times))
        out = np.array(sample(plan.states.T, model.params)).T
        velocity = [system.state.slice(n) for n in ('w_WH_H', 'v_WH_H')]
        return {
            'hand': {
                'times': plan.times,
                'X': out[:, :16].reshape(-1, 4, 4).transpose(0, 2, 1),
                'twist': np.hstack([plan.states[:, s] for s in velocity]),
                'acceleration': plan.controls,
            },
            'object': {
                'times': plan.times,
                'X': out[:, 16:32].reshape(-1, 4, 4).transpose(0, 2, 1),
                'twist': out[:, 32:38],
            },
        }


def contact_system(scenario: Scenario) -> ContactSystem:
    """Return the system of a scenario of kind ``contact``."""
    return cast('ContactSystem', scenario.system)


def _sampling(system: ContactSystem) -> ca.Function:
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    X_WH, X_WO, _ = system.pose(x, p)
    out = ca.vertcat(ca.vec(X_WH), ca.vec(X_WO), *system.object_twist(x, p))
    return ca.Function('sample_bodies', [x, p], [ca.densify(out)])


PLANNER = ContactPlanner()
