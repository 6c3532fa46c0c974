"""Energy is kept where the hand rests or only turns nothing, and balanced by power elsewhere."""

from contact_samples import PAIRS, parameters_of, random_state, system_of
import numpy as np
import pytest
from rolling_dynamics.simulation import simulate


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
@pytest.mark.parametrize('name', PAIRS)
def test_energy_on_a_fixed_hand(name, friction):
    system = system_of(name, friction)
    p, rng = parameters_of(system), np.random.default_rng(8)
    x = random_state(system, p, rng)
    for entry in ('w_WH_H', 'v_WH_H'):
        x[system.state.slice(entry)] = 0
    trajectory = simulate(
        system, p, x, None, 1.0, t_eval=np.linspace(0, 1, 21), events=('relative_curvature',)
    )
    energy = trajectory.evaluate(lambda s: s.invariants['energy'])[:, 0]
    kinetic = np.abs(energy).max() + 1
    assert np.abs(energy - energy[0]).max() < 1e-10 * kinetic


def test_power_of_the_hand():
    """The energy gained is the work of the contact force on the moving hand."""
    system = system_of('ellipsoid in dish')
    p, rng = parameters_of(system), np.random.default_rng(9)
    x, u = random_state(system, p, rng), rng.normal(size=6)
    values = system.state.unpack(x)
    frame, point = (np.array(a) for a in (system.pose(x, p)[2], system.pose(x, p)[0]))
    arm_H = point[:3, :3].T @ (frame[:3, 3] - point[:3, 3])
    force_H = (
        point[:3, :3].T @ frame[:3, :3] @ np.array(system.mode.wrench(x, u, 0, p)).ravel()[3:]
    )
    power = force_H @ (values['v_WH_H'] + np.cross(values['w_WH_H'], arm_H))
    f = np.array(system.mode.dynamics(x, u, 0, p)).ravel()
    energy, h = system.invariants['energy'], 1e-5
    slope = float(energy(x + h * f, u, 0, p) - energy(x - h * f, u, 0, p)) / (2 * h)
    assert slope == pytest.approx(power, rel=1e-7)


def test_spin_of_a_ball_on_a_plate_is_kept():
    system = system_of('sphere on plane')
    p = parameters_of(system, inertia=1e-3)
    x = random_state(system, p, np.random.default_rng(10))
    x[system.state.slice('w_WH_H')] = 0
    trajectory = simulate(system, p, x, None, 1.0, events=())
    spin = trajectory.evaluate(lambda s: s.invariants['spin'])[:, 0]
    assert np.abs(spin - spin[0]).max() < 1e-11
