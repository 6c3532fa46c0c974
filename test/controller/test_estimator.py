"""State and inertia from noisy poses of a ball whose inertia is not as assumed."""

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.predictive import estimator as estimator_module
from rolling_controller.predictive.estimator import Estimator
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Plane, Sphere

SYSTEM = ContactSystem(Sphere(0.1), Plane())
NOISE = {'contact_h': 2e-4, 'd_HO': np.radians(0.2)}
STEP, WRONG, PUSH = 2e-3, 1.15, 0.35  # s, fraction of the assumed inertia, rad/s
POSE = [SYSTEM.tangent.slice(name) for name in NOISE]
SPIN = SYSTEM.state.slice('w_HO_H')


def parameters(inertia):
    return SYSTEM.pack_parameters(mass=0.1, inertia=inertia, mu=0.3)


def follow(steps, pushed_at=None, driven=0.01):
    """Return the estimator and both motions: a tilting plate, and a push if there is one."""
    rng, inertia = np.random.default_rng(3), 0.4 * 0.1 * 0.1**2
    stepper = Stepper(SYSTEM, parameters(WRONG * inertia), max_step=STEP)
    estimator = Estimator(
        SYSTEM,
        parameters(inertia),
        noise=NOISE,
        driven={'w_HO_H': driven},
        uncertain={'inertia': 0.1},
    )
    x = SYSTEM.state.pack(
        q_WH=[1, 0, 0, 0],
        p_WH=[0, 0, 0],
        contact_h=[0, 0],
        w_WH_H=[0, 0, 0],
        v_WH_H=[0, 0, 0],
        q_HO=[1, 0, 0, 0],
        w_HO_H=[0, 0, 0],
    )
    estimator.begin(x)
    u, truth, estimates = np.zeros(SYSTEM.control.size), [], []
    for k in range(steps):
        phase = 8 * k * STEP
        u[SYSTEM.control.names.index('alpha_WH_H_x')] = 4 * np.cos(phase)
        u[SYSTEM.control.names.index('alpha_WH_H_y')] = 4 * np.sin(phase)
        x = stepper.step(x, u, STEP)
        if k == pushed_at:
            x[SPIN] += [PUSH, 0.0, 0.0]
        d = np.zeros(SYSTEM.tangent.size)
        for where, size in zip(POSE, NOISE.values(), strict=True):
            d[where] = size * rng.normal(size=where.stop - where.start)
        measured = np.array(SYSTEM.retract(x, d)).ravel()
        measured[SPIN] = np.nan  # nobody measures it
        estimates.append(estimator.update(measured, u, STEP).copy())
        truth.append(x)
    return estimator, np.array(truth), np.array(estimates)


@pytest.fixture(scope='module')
def followed():
    return follow(400)


def test_inertia_and_velocity_are_found(followed):
    estimator, truth, estimates = followed
    where = SYSTEM.parameters.slice('inertia')
    ratio = estimator.p[where][0] / parameters(0.4e-3)[where][0]
    assert ratio == pytest.approx(WRONG, abs=0.01)
    assert estimator.deviations[-1] < 0.01
    late = slice(250, None)
    w_error = (truth - estimates)[late, SPIN]
    assert np.sqrt(np.mean(w_error**2)) < 0.01
    off = (truth - estimates)[late, SYSTEM.state.slice('contact_h')]
    assert np.sqrt(np.mean(off**2)) < NOISE['contact_h'] / 2


def test_errors_are_as_large_as_the_filter_says(followed):
    estimator, truth, estimates = followed
    where = np.concatenate([np.arange(SYSTEM.tangent.size)[s] for s in POSE])
    square = [
        np.array(SYSTEM.difference(a, b)).ravel()[where] ** 2
        for a, b in zip(truth[200:], estimates[200:], strict=True)
    ]
    expected = estimator.deviations[: len(where)]
    assert_allclose(np.sqrt(np.mean(square, axis=0)) / expected, 1.0, atol=0.8)


def test_push_is_caught_sooner_than_noise_would_allow(monkeypatch):
    def left():
        _, truth, estimates = follow(330, pushed_at=250)
        w_error = np.abs((truth - estimates)[:, SPIN]).max(axis=1)
        assert w_error[251] > 0.8 * PUSH
        return w_error[300:].max()  # a tenth of a second later

    caught = left()
    monkeypatch.setattr(estimator_module, 'LIVELY', 1.0)
    assert caught < 0.2 * PUSH
    assert caught < 0.5 * left()


def test_present_is_reached_by_the_controls_since():
    estimator, _, estimates = follow(20)
    u = np.zeros(SYSTEM.control.size)
    u[0] = 1.0
    expected = Stepper(SYSTEM, estimator.p, max_step=STEP).step(estimates[-1], u, 3 * STEP)
    assert_allclose(estimator.ahead([u, u, u], STEP), expected, atol=1e-9)


@pytest.mark.parametrize(
    ('arguments', 'error'),
    [
        ({'noise': {'contact': 1.0}}, 'contact_h'),
        ({'uncertain': {'inertias': 0.1}}, "'inertia'"),
        ({'uncertain': {'gravity_W': 0.1}, 'p': 0}, 'gravity_W is zero'),
    ],
)
def test_what_cannot_be_estimated_is_refused(arguments, error):
    p = parameters(0.4e-3) * arguments.pop('p', 1)
    given = {'noise': NOISE, 'driven': {'w_HO_H': 0.1}, **arguments}
    with pytest.raises(ParameterError, match=error):
        Estimator(SYSTEM, p, **given)
