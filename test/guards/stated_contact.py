"""A contact whose forces and motions a test states, so that each decision stands alone."""

from types import SimpleNamespace

import numpy as np
from rolling_dynamics.contract import Entry, Layout, MotionState
from rolling_dynamics.mechanism.hybrid import START
from rolling_dynamics.mechanism.transitions import CLEAR, CREEP, HybridMachine

XYZ = ('x', 'y', 'z')
MODES = ('rolling', 'slipping', 'resting', 'separated')
AXES = np.eye(3)[:, [1, 2, 0]]  # of the contact, in the frame of the velocities; its normal is x


class StatedContact(HybridMachine):
    """
    A ball of 1 kg at a gap over a plate, which the contact pushes in its centre.

    Each function takes what a compiled one takes: arrays of the sizes of the layouts, finite, and
    a number for the time; nothing else.

    Attributes
    ----------
    forces
        Force of the contact by mode [N], the normal last.
    torque, arm
        Against turning [N] where it rests, and the most of it over the normal force.
    onset_force, margin, lift
        Normal force when slip begins, Painleve's margin, and the free acceleration of the gap.
    soft
        Whether the contact gives way.

    """

    name, able, parting, overlap = 'stated', {0: 'the ball'}, (0,), 'the bodies overlap'
    state = Layout(
        (
            Entry('gap', ('gap',), 'm'),
            Entry('v', tuple(f'v_{k}' for k in XYZ), 'm/s'),
            Entry('turning', ('turning',), 'm/s'),
            Entry('n', ('cos', 'sin'), ''),
        )
    )
    parameters = Layout(
        tuple(Entry(name, (name,), '') for name in ('mu', 'mu_kinetic', 'restitution'))
    )
    speed_names = ('v',)
    gaps = symbols = modes = retract = None
    resisted = bound = ()
    planar, creep, clear = False, CREEP, CLEAR

    def __init__(self, **given):
        self.forces = {mode: np.array([0, 0, 10.0]) for mode in MODES}
        self.torque, self.arm, self.soft, self.searched = 0.0, 0.1, False, True
        self.margin, self.onset_force, self.lift = 1.0, 10.0, -10.0
        for name, value in given.items():
            setattr(self, name, value)
        self.modes = {
            mode: SimpleNamespace(
                projection=lambda *given, m=mode: self._placed(m, *checked(given))
            )
            for mode in MODES
        }
        self.retract = lambda x, d: x + d

    def phase(self, mode, i):
        assert i == 0
        return mode

    def moved(self, s, i, phase='rolling'):
        assert i == 0
        return self.mode_with({i: phase}, s.p)

    def mode_with(self, phases, p):
        assert p.shape == (3,)
        return phases[0]

    def rigid(self, i):
        assert i == 0
        return not self.soft

    def holding(self, *_):
        return {}

    def _placed(self, mode, x, _):
        x = x.copy()
        x[5:] /= np.linalg.norm(x[5:])
        if mode == 'separated':
            return x
        v = contact_velocity(x) * (mode == 'slipping')
        v[2] = 0.0
        return state(v=v, turning=x[4] * (mode != 'resting'), n=x[5:])

    def evaluation(self, what, mode, i):
        assert i == 0
        return lambda *given: getattr(self, f'_{what}_of')(mode, *given)

    def _slip_of(self, mode, *given):
        p, (x, y, z) = checked(given)[-1], self.forces[mode]
        if mode == 'slipping':
            return np.array([x, y, z, self.margin])
        return np.array([x, y, z, p[0] * z - np.hypot(x, y)])

    def _turn_of(self, mode, *given):
        z = checked(given) and self.forces[mode][2]
        return np.array([self.torque, 0.0, z, self.arm * z - abs(self.torque)])

    def _slips_of(self, mode, *given):
        assert mode == 'slipping'
        *given, way = given
        on = self._placed('rolling', *checked(given)[::3])
        return state(v=[*(START * self.creep * way), 0], turning=on[4], n=on[5:])

    def _turns_of(self, mode, *given):
        *given, way = given
        x, _, _, p = checked(given)
        assert (mode, p.shape) == ('rolling', (3,))
        return state(v=contact_velocity(x), turning=START * self.creep * way[0], n=x[5:])

    def _stop_of(self, mode, *given):
        return self._placed(mode, *checked(given)[::3])

    def _lift_of(self, mode, *given):
        assert mode == 'separated'
        return checked(given) and self.lift

    @property
    def onset(self):
        return self._onset if self.searched else None

    def _onset(self, *given):
        p = checked(given[:-1])[-1]
        pull = -self.forces['rolling'][:2]
        return pull - p[1] * self.onset_force * given[-1], self.onset_force, self.margin

    def contact_motion(self, *given):
        x, _ = checked(given)
        return x[:1], contact_velocity(x)[:, None]

    def pace(self, *given):
        x, _ = checked(given)
        return [np.hypot(*contact_velocity(x)[:2])], [abs(x[4])]

    def impact_terms(self, *given):
        p = checked(given)[-1]
        return np.eye(3), AXES.T, p[None, :]

    def gap_rows(self, *given):
        x, _ = checked(given)
        return x[:1, None], np.eye(7)[:1]


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
    for name, size in (('x', 7), ('p', 3), ('u', 6)):
        if name in named:
            assert named[name].dtype == float
            assert named[name].shape == (size,)
            assert np.isfinite(named[name]).all()
    return given


TIMES = (2.0, 3.0)  # of the states of these tests


def values(*, mu=0.5, mu_kinetic=0.4, restitution=0.0):
    """Return parameters."""
    return np.array([mu, mu_kinetic, restitution])


def state(gap=0.0, v=(0, 0, 0), turning=0.0, n=(1, 0)):
    """Return x: velocity of the contact in its frame, and the rate of turning."""
    return np.array([gap, *(AXES @ np.array(v, dtype=float)), turning, *n], dtype=float)


def contact_velocity(x):
    """Return the velocity of the contact point in the contact's frame."""
    return AXES.T @ x[1:4]


def at(mode, *, gap=0.0, v=(0, 0, 0), turning=0.0, **given):
    """Return a state in a mode, at 2 s."""
    return MotionState(t=2.0, x=state(gap, v, turning), mode=mode, p=values(**given))
