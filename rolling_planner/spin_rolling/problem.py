"""What a spin-rolling plan is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    model_validator,
    StrictBool,
    ValidationInfo,
)
from rolling_dynamics.errors import check_choice, ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import line_numbers
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import (
    Brought,
    entry,
    gone,
    quantity,
    refused,
    SECTION,
    Section,
)
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_dynamics.spin_rolling_sphere.coordinates import (
    checked_radius,
    coordinates_from_attitude,
)
from rolling_planner.spin_rolling.motion import Contact, ContactRegion, InputBounds

Mode = Literal['spin_rolling', 'pure_rolling']
FORMERLY = (
    'belonged to the search for extremals of pure rolling, which has been removed; leave it out: '
    "mode 'pure_rolling' is planned in closed form by rolls and loops"
)
ENTRIES = ('u_s', 'v_s', 'u_o', 'v_o', 'psi')


class ContactGoal(Section):
    """Contact at the end; what is not named is as at the start."""

    u_s: float | None = quantity('contact on the plane', 'm', default=None)
    v_s: float | None = quantity('contact on the plane', 'm', default=None)
    u_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    v_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    psi: float | None = quantity('angle of spin', 'rad', default=None)

    @model_validator(mode='after')
    def _some(self) -> ContactGoal:
        if not self.given:
            raise refused('at least one entry is needed, got none')
        return self

    def after(self, start: Contact) -> Contact:
        """Return the contact."""
        polar = self.given >= set(ENTRIES[2:])  # not needed, and not defined at a pole
        here = np.zeros(3) if polar else coordinates_from_attitude(start.R_SO)
        known = dict(zip(ENTRIES, [start.u_s, start.v_s, *here], strict=True))
        wanted = known | self.model_dump(exclude_unset=True)
        return contact_at([wanted[name] for name in ENTRIES])


def _at_end(goal: ContactGoal, info: ValidationInfo) -> Contact:
    return goal.after((info.context or {})['start'])


@dataclass(frozen=True, kw_only=True)
class SpinRollingProblem:
    """
    A planning problem of the sphere on a plane.

    Attributes
    ----------
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    mode
        ``spin_rolling``, three inputs, or ``pure_rolling``, two.
    region
        Where the contact may be.
    bounds
        Bounds of the inputs.
    optimise
        Take the fold of a spin-rolling path that is shortest and spins least.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    radius: Brought[float]
    start: Brought[Contact]
    goal: Annotated[Contact, entry(Annotated[ContactGoal, AfterValidator(_at_end)])]
    mode: Annotated[Mode, Field(description='three inputs, or two')] = 'spin_rolling'
    region: Annotated[
        ContactRegion, Field(description='where the contact may be; everywhere by default')
    ] = field(default_factory=ContactRegion)
    bounds: InputBounds = field(default_factory=InputBounds)
    optimise: Annotated[StrictBool, Field(description='whether the plan is shortened')] = True
    _gone = gone(shots=FORMERLY, seed=FORMERLY)

    def __post_init__(self) -> None:
        """Refuse what no planner can do."""
        checked_radius(self.radius)
        check_choice('mode', self.mode, Mode)
        for name in ('start', 'goal'):
            contact = getattr(self, name)
            self.region.check(name, (contact.u_s, contact.v_s), contact.normal)


def contact_at(coordinates: Sequence[float]) -> Contact:
    """
    Return the contact of (u_s, v_s, u_o, v_o, psi) [m, rad].

    Raises
    ------
    ParameterError
        They are not five finite numbers.

    """
    values = [float(c) for c in coordinates]
    if len(values) != 5 or not all(math.isfinite(c) for c in values):
        raise ParameterError(
            f'u_s v_s u_o v_o psi: five finite numbers are needed, got {list(coordinates)}'
        )
    u_s, v_s, u, v, psi = values
    cu, su, cv, sv = math.cos(u), math.sin(u), math.cos(v), math.sin(v)
    c, s = math.cos(psi), math.sin(psi)
    e_u, e_v = (-cu, 0.0, su), (su * sv, cv, cu * sv)
    x = (-c * e_u[0] + s * e_v[0], s * e_v[1], -c * e_u[2] + s * e_v[2])
    y = (s * e_u[0] + c * e_v[0], c * e_v[1], s * e_u[2] + c * e_v[2])
    return Contact(u_s, v_s, (x, y, (su * cv, -sv, cu * cv)))


def contact_of_attitude(contact_s: ArrayLike, R_SO: ArrayLike) -> Contact:
    """Return the contact of a point of the plane [m] and an attitude, rotation matrix (3, 3)."""
    point, R = np.asarray(contact_s, dtype=float), np.asarray(R_SO, dtype=float)
    if point.shape != (2,) or R.shape != (3, 3) or not np.all(np.isfinite(point)):
        raise ParameterError('contact_s takes 2 finite numbers and R_SO a 3x3 matrix')
    if not np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-9) or np.linalg.det(R) < 0:
        raise ParameterError('R_SO must be a rotation matrix')
    rows = R.tolist()
    return Contact(
        float(point[0]), float(point[1]), (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))
    )


@line_numbers
def read_spin_rolling_problem(scenario: Scenario) -> SpinRollingProblem:
    """
    Return the planning problem of a scenario.

    Raises
    ------
    ScenarioError
        There is no section ``plan``, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section that holds the goal of a plan)')
    system = scenario.system
    if not isinstance(system, SpinRollingSphere):
        raise ScenarioError(f'system: a spin_rolling_sphere is needed, got {system.name!r}')
    start = contact_of_attitude(scenario.x0[:2], np.array(system.attitude(scenario.x0)))
    try:
        known = {'radius': float(scenario.p[0]), 'start': start}
        return check(SpinRollingProblem, raw, 'plan', known)
    except ScenarioError as e:
        raise ScenarioError(str(e).replace('plan.start: ', 'initial: ', 1)) from None
