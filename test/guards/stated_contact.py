"""A contact whose forces and motions a test states, so that each decision stands alone."""

from types import SimpleNamespace

import numpy as np
from rolling_dynamics.contract import Entry, Layout, MotionState
from rolling_dynamics.point_contact.point_contact import Landing
from rolling_dynamics.point_contact.transitions import Transitions

XYZ = ('x', 'y', 'z')
MODES = ('rolling', 'pure_rolling', 'slipping', 'pure_slipping', 'separated', 'off_hand')


class StatedContact:
    """
    A body at a gap over a plate, with the velocity v of its contact point and a spin.

    Attributes
    ----------
    wrenches
        Torque and force of the contact by mode.
    margin
        Painleve's, of sliding and of slip that begins.
    onset_force, lift
        Normal force when slip begins; acceleration of the gap without contact.
    lands
        What an impact leaves, or the exception that it raises.
    over
        Whether the body is over the plate.

    """

    state = Layout(
        (
            Entry('gap', ('gap',), 'm'),
            Entry('v', tuple(f'v_{k}' for k in XYZ), 'm/s'),
            Entry('w', tuple(f'w_{k}' for k in XYZ), 'rad/s'),
        )
    )
    parameters = Layout(
        tuple(
            Entry(name, (name,), '') for name in ('mu', 'mu_kinetic', 'mu_spin', 'spin_direction')
        )
    )
    velocity_entry, spin_entry = 'v', 'w'
    planar, slides = False, True

    def __init__(self, **given):
        self.wrenches = {mode: np.array([0, 0, 0, 0, 0, 10.0]) for mode in MODES}
        self.margin, self.onset_force, self.lift = 1.0, 10.0, -10.0
        self.lands, self.over, self.asked = None, True, []
        for name, value in given.items():
            setattr(self, name, value)
        self.modes = {mode: self._mode(mode) for mode in MODES}

    def _mode(self, mode):
        return SimpleNamespace(
            wrench=lambda *_: self.wrenches[mode],
            guards={'painleve': lambda *_: self.margin},
            projection=lambda x, _: self._on(mode, np.array(x)),
        )

    def _on(self, mode, x):
        if mode in ('separated', 'off_hand'):
            return x
        x[0] = x[3] = 0.0
        if mode.startswith('pure'):
            x[6] = 0.0
        if mode.endswith('rolling'):
            x[1:3] = 0.0
        return x

    def touch(self, x, _):
        return x[0], x[1:4], np.zeros(3), x[6]

    def slip_onset(self, x, u, t, p, direction):  # noqa: ARG002
        pull = -self.wrenches['rolling'][3:5]
        return pull - p[1] * self.onset_force * direction, self.onset_force, self.margin

    def contact_axes(self, x, p):  # noqa: ARG002
        return np.eye(3)

    def free_lift(self, x, u, t, p):  # noqa: ARG002
        return self.lift

    def landing(self, x, t, p):  # noqa: ARG002
        if isinstance(self.lands, Exception):
            raise self.lands
        return self.lands

    def over_hand(self, x, p):  # noqa: ARG002
        return self.over


U = np.zeros(6)


def contact(**given):
    """Return the decisions at a contact, with what a test states of it."""
    return Transitions(StatedContact(**given))


def pressed(tangential, normal, twist=0.0, across=0.0):
    """Return the wrench of a contact [N m], [N]."""
    return np.array([0, 0, twist, tangential, across, normal], dtype=float)


def values(*, mu=0.5, mu_kinetic=0.4, mu_spin=0.0, spin_direction=0.0):
    """Return parameters."""
    return np.array([mu, mu_kinetic, mu_spin, spin_direction])


def at(mode, *, gap=0.0, v=(0, 0, 0), spin=0.0, **given):
    """Return a state in a mode."""
    x = np.array([gap, *v, 0, 0, spin], dtype=float)
    return MotionState(t=2.0, x=x, mode=mode, p=values(**given))


def landing(v, sticks=True):
    """Return an impact that leaves this velocity of the contact."""
    return Landing(np.array([0, *v, 0, 0, 0], dtype=float), np.array([3.0, 0.0, 4.0]), sticks)
