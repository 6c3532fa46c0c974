"""A contact whose forces and motions a test states, so that each decision stands alone."""

from types import SimpleNamespace

import numpy as np
from rolling_dynamics.contract import Entry, Layout, MotionState
from rolling_dynamics.point_contact.point_contact import Landing
from rolling_dynamics.point_contact.transitions import Transitions

XYZ = ('x', 'y', 'z')
MODES = ('rolling', 'pure_rolling', 'slipping', 'pure_slipping', 'separated', 'off_hand')
AXES = np.eye(3)[:, [1, 2, 0]]  # of the contact, in the frame of the velocities; its normal is x


class StatedContact:
    """
    A ball of radius 1 m at a gap over a plate.

    Each function takes what a compiled one takes: arrays of the sizes of the layouts, finite, and
    a number for the time; nothing else.

    Attributes
    ----------
    wrenches
        Torque and force of the contact by mode; a function of x, u, t and p where it depends.
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
            Entry('n', ('cos', 'sin'), ''),
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
        self.lands, self.over = None, True
        for name, value in given.items():
            setattr(self, name, value)
        self.modes = {mode: self._mode(mode) for mode in MODES}

    def _mode(self, mode):
        def wrench(*given):
            stated = self.wrenches[mode]
            return stated(*checked(given)) if callable(stated) else checked(given) and stated

        return SimpleNamespace(
            wrench=wrench,
            guards={'painleve': lambda *given: checked(given) and self.margin},
            projection=lambda *given: self._on(mode, *checked(given)),
        )

    def _on(self, mode, x, _):
        x = x.copy()
        x[7:] /= np.linalg.norm(x[7:])
        if mode in ('separated', 'off_hand'):
            return x
        v, w = contact_velocity(x), AXES.T @ x[4:7]
        x[0] = v[2] = 0.0
        if mode.startswith('pure'):
            w[2] = 0.0
        if mode.endswith('rolling'):
            v[:2] = 0.0
        return state(v=v, w=w, n=x[7:])

    def touch(self, *given):
        x, _ = checked(given)
        return x[0], contact_velocity(x), np.zeros(3), spin_of(x)

    def slip_onset(self, *given):
        _, _, _, p = checked(given[:-1])
        pull = -self.wrenches['rolling'][3:5]
        return pull - p[1] * self.onset_force * given[-1], self.onset_force, self.margin

    def contact_axes(self, *given):
        return checked(given) and AXES

    def free_lift(self, *given):
        return checked(given) and self.lift

    def landing(self, x, t, p):
        checked((x, U, t, p))
        if isinstance(self.lands, Exception):
            raise self.lands
        return self.lands

    def over_hand(self, *given):
        return checked(given) and self.over


U = np.arange(1.0, 7.0)


def checked(given):
    """Return the arguments x, u, t, p, or x and p, if a compiled function would take them."""
    named = {'x': given[0], 'p': given[-1]}
    if len(given) == 4:
        named['u'] = given[1]
        assert type(given[2]) is float
        assert given[2] in TIMES
    else:
        assert len(given) == 2
    for name, size in (('x', 9), ('p', 4), ('u', 6)):
        if name in named:
            assert named[name].dtype == float
            assert named[name].shape == (size,)
            assert np.isfinite(named[name]).all()
    return given


TIMES = (2.0, 3.0)  # of the states of these tests


def contact(**given):
    """Return the decisions at a contact, with what a test states of it."""
    return Transitions(StatedContact(**given))


def pressed(tangential, normal, twist=0.0, across=0.0):
    """Return the wrench of a contact [N m], [N]."""
    return np.array([0, 0, twist, tangential, across, normal], dtype=float)


def values(*, mu=0.5, mu_kinetic=0.4, mu_spin=0.0, spin_direction=0.0):
    """Return parameters."""
    return np.array([mu, mu_kinetic, mu_spin, spin_direction])


def state(gap=0.0, v=(0, 0, 0), w=(0, 0, 0), n=(1, 0)):
    """Return x: velocity of the contact and angular velocity, both in the contact's frame."""
    centre = AXES @ (np.array(v, dtype=float) - rolled(w))
    return np.array([gap, *centre, *(AXES @ w), *n], dtype=float)


def rolled(w):
    """Return the velocity of the contact by rotation alone, as of a ball of radius 1 m."""
    return np.array([-w[1], w[0], 0.0])


def contact_velocity(x):
    """Return the velocity of the contact point in the contact's frame."""
    return AXES.T @ x[1:4] + rolled(AXES.T @ x[4:7])


def spin_of(x):
    """Return the angular velocity about the normal."""
    return (AXES.T @ x[4:7])[2]


def at(mode, *, gap=0.0, v=(0, 0, 0), w=(0, 0), spin=0.0, **given):
    """Return a state in a mode, at 2 s."""
    return MotionState(t=2.0, x=state(gap, v, (*w, spin)), mode=mode, p=values(**given))


def landing(v, sticks=True):
    """Return an impact that leaves this velocity of the contact."""
    return Landing(state(v=v), np.array([3.0, 0.0, 4.0]), sticks)
