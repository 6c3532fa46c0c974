"""Whether a plan was made for a system."""

from __future__ import annotations

from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import printable, quoted
from rolling_planner.plan import Plan


def check_plan_fits(plan: Plan, system: RollingSystem) -> None:
    """Raise ParameterError if a plan was made for another system."""
    if plan.system != system.name:
        raise ParameterError(f'plan.system must be {system.name!r}, got {quoted(plan.system)}')
    for what, given, wanted in (
        ('state_names', plan.state_names, system.state.names),
        ('control_names', plan.control_names, system.control.names),
    ):
        if list(given) != list(wanted):
            raise ParameterError(
                f'plan.{what} must be {", ".join(wanted)}, got {printable(", ".join(given))}'
            )
    if plan.model_hash and plan.model_hash != system.model_hash:
        raise ParameterError(
            f'plan.model_hash is {quoted(plan.model_hash)}, this controller runs '
            f'{system.model_hash!r}: the plan was made with other equations; plan again with the '
            'scenario of this controller'
        )
