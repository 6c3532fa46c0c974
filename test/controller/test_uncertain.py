"""State and inertia from noisy poses of a ball whose inertia is not as assumed."""

import casadi as ca
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.measured_state import SensorFilter
from rolling_controller.supervisor import Source
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_dynamics.uncertain import UncertainSystem

WHOLE = ContactSystem(Sphere(0.1), Plane())
SYSTEM = UncertainSystem(WHOLE, ['inertia'])
NOISE = {'contact_h': 2e-4, 'd_HO': np.radians(0.2)}
STEP, WRONG, PUSH = 2e-3, 1.15, 0.35  # s, fraction of the assumed inertia, rad/s
POSE = [SYSTEM.tangent.slice(name) for name in NOISE]
LOST = {'w_HO_H': 0.5, 'd_HO': 0.01, 'contact_h': 1e-3}
SPIN = SYSTEM.state.slice('w_HO_H')
PLACE = Entry('position', ('position_u', 'position_v'), 'm')
CAMERA = Sensor(
    name='camera',
    output=Layout((PLACE, quaternion_entry('orientation'))),
    measure=lambda at: ca.vertcat(at.state['contact_h'], at.state['q_HO']),
    covariance=np.diag([NOISE['contact_h']] * 2 + [NOISE['d_HO'] / 2] * 4) ** 2,
    rate=1 / STEP,
    message='pose',
    topic='',
)


def parameters(inertia):
    return WHOLE.pack_parameters(mass=0.1, inertia=inertia, mu=0.3)


def follow(steps, pushed_at=None, sources=None):
    """Return what is believed at the end and both motions: a tilting plate, and maybe a push."""
    rng, inertia = np.random.default_rng(3), 0.4 * 0.1 * 0.1**2
    stepper = Stepper(WHOLE, parameters(WRONG * inertia), max_step=STEP)
    x = WHOLE.state.pack(
        q_WH=[1, 0, 0, 0],
        p_WH=[0, 0, 0],
        contact_h=[0, 0],
        w_WH_H=[0, 0, 0],
        v_WH_H=[0, 0, 0],
        q_HO=[1, 0, 0, 0],
        w_HO_H=[0, 0, 0],
    )
    state = SensorFilter(
        SYSTEM,
        parameters(inertia),
        [CAMERA],
        [*x, 0.0],
        start={**NOISE, 'w_HO_H': 0.01, 'inertia_log': 0.1},
        lost=LOST,
        drift={'w_HO_H': 0.01},
        sources=sources,
    )
    belief, u = state.start(), np.zeros(WHOLE.control.size)
    belief, _ = state.step(belief, [*x[WHOLE.state.slice('contact_h')], 1, 0, 0, 0], 0.0)
    truth, estimates = [], []
    for k in range(steps):
        phase = 8 * k * STEP
        u[WHOLE.control.names.index('alpha_WH_H_x')] = 4 * np.cos(phase)
        u[WHOLE.control.names.index('alpha_WH_H_y')] = 4 * np.sin(phase)
        x = stepper.step(x, u, STEP)
        if k == pushed_at:
            x[SPIN] += [PUSH, 0.0, 0.0]
        d = np.zeros(WHOLE.tangent.size)
        for where, size in zip(POSE, NOISE.values(), strict=True):
            d[where] = size * rng.normal(size=where.stop - where.start)
        seen = WHOLE.state.unpack(np.array(WHOLE.retract(x, d)).ravel())
        belief = state.acting(belief, u, k * STEP)
        measured = np.concatenate([seen['contact_h'], seen['q_HO']])
        belief, estimate = state.step(belief, measured, (k + 1) * STEP)
        estimates.append(estimate)
        truth.append([*x, np.log(WRONG)])
    return belief, np.array(truth), np.array(estimates)


@pytest.fixture(scope='module')
def followed():
    return follow(400)


def test_inertia_and_velocity_are_found(followed):
    belief, truth, estimates = followed
    assert np.exp(belief.x[-1]) == pytest.approx(WRONG, abs=0.01)
    assert np.sqrt(belief.P[-1, -1]) < 0.01
    late = slice(250, None)
    w_error = (truth - estimates)[late, SPIN]
    assert np.sqrt(np.mean(w_error**2)) < 0.01
    off = (truth - estimates)[late, SYSTEM.state.slice('contact_h')]
    assert np.sqrt(np.mean(off**2)) < NOISE['contact_h'] / 2


def test_errors_are_as_large_as_the_filter_says(followed):
    belief, truth, estimates = followed
    where = np.concatenate([np.arange(SYSTEM.tangent.size)[s] for s in POSE])
    square = [
        np.array(SYSTEM.difference(a, b)).ravel()[where] ** 2
        for a, b in zip(truth[200:], estimates[200:], strict=True)
    ]
    expected = np.sqrt(np.diag(belief.P))[where]
    assert_allclose(np.sqrt(np.mean(square, axis=0)) / expected, 1.0, atol=0.8)


def test_a_supervisor_finds_a_push_sooner_than_noise_would_allow():
    def left(sources):
        _, truth, estimates = follow(330, 250, sources)
        w_error = np.abs((truth - estimates)[:, SPIN]).max(axis=1)
        assert w_error[251] > 0.8 * PUSH
        return w_error[300:].max()  # a tenth of a second later

    caught = left({'camera': Source(name='the ball', agreement=0.0, window=0.025)})
    assert caught < 0.2 * PUSH
    assert caught < 0.5 * left(None)


def test_what_is_uncertain_rests_and_scales_its_parameter():
    p, x = parameters(4e-4), np.array([*np.zeros(WHOLE.state.size), np.log(WRONG)])
    x[[WHOLE.state.names.index(n) for n in ('q_WH_w', 'q_HO_w')]] = 1.0
    u = np.arange(1.0, 1 + WHOLE.control.size)
    rates = np.array(SYSTEM.mode.dynamics(x, u, 0.0, p)).ravel()
    expected = WHOLE.mode.dynamics(x[:-1], u, 0.0, parameters(WRONG * 4e-4))
    assert_allclose(rates, [*np.array(expected).ravel(), 0.0], rtol=1e-12, atol=1e-12)
    assert SYSTEM.pose.name_out() == WHOLE.pose.name_out()
    for name, f in WHOLE.invariants.items():
        expected = f(x[:-1], u, 0.0, parameters(WRONG * 4e-4))
        assert float(SYSTEM.invariants[name](x, u, 0.0, p)) == pytest.approx(float(expected))


def test_a_parameter_that_does_not_exist_is_refused():
    with pytest.raises(ParameterError, match="'inertia'"):
        UncertainSystem(WHOLE, ['inertias'])
