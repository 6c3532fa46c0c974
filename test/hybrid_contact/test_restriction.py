"""A system restricted to some controls is the whole one where nothing else moves."""

from dataclasses import replace

import casadi as ca
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from planar_rolling import PlanarRolling
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.rolling_system import Entry, Layout, Mode, WrittenSystem
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.inertia import solid_ellipsoid_inertia
from rolling_dynamics.restriction import restricted
from rolling_dynamics.surfaces import Ellipsoid, Plane
from rolling_dynamics.testing import check_system
from stepped_motion import SteppedMotion

AXES, MASS, HALF, GRAVITY = (0.0252, 0.0252, 0.0377), 0.0553, 0.1875, 3.924
INERTIA = solid_ellipsoid_inertia(MASS, *AXES)
IN_PLANE = ('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z')
numbers = st.floats(-2.0, 2.0)


def rolling():
    """Return an ellipsoid on a plate in space, its parameters, and a state at rest."""
    system = ContactSystem(Ellipsoid(*AXES), Plane(u_bounds=(-HALF, HALF), v_bounds=(-HALF, HALF)))
    p = system.pack_parameters(mass=MASS, inertia=INERTIA, gravity_W=(0, 0, -GRAVITY))
    return system, p, at_rest(system)


def hybrid():
    system = HybridContactSystem(Ellipsoid(*AXES))
    p = system.pack_parameters(
        mass=MASS,
        inertia=INERTIA,
        gravity_W=(0, 0, -GRAVITY),
        mu_kinetic=0.8,
        rolling_resistance=1e-3,
        edges=(-HALF, HALF, -HALF, HALF),
    )
    x = at_rest(system)
    x[system.state.slice('p_HO_H').stop - 1] = AXES[2]
    return system, p, x


def at_rest(system):
    entries = system.state.entries
    rest = {e.name: [1, 0, 0, 0] if e.kind == 'quaternion' else np.zeros(e.size) for e in entries}
    return system.state.pack(**rest)


CONTACT, HYBRID = rolling(), hybrid()
PLANE, PLANE_HYBRID = (restricted(*of, IN_PLANE) for of in (CONTACT, HYBRID))
ORACLE = PlanarRolling(CONTACT[0].object_surface)
P_ORACLE = ORACLE.pack_parameters(
    mass=MASS, inertia=INERTIA[1, 1], gravity_W=(0, -GRAVITY), edges=(-HALF, HALF)
)


def turn(beta):
    return np.array([np.cos(beta / 2), np.sin(beta / 2)])


def test_the_plane_is_found():
    assert PLANE.tangent.names == [
        'd_WH_y', 'p_WH_x', 'p_WH_z', 'd_HO_y', 'u_h', 'w_WH_H_y', 'v_WH_H_x', 'v_WH_H_z',
        'w_HO_H_y',
    ]  # fmt: skip
    assert PLANE_HYBRID.tangent.size == 12
    assert set(PLANE_HYBRID.modes) == set(HYBRID[0].modes)
    assert PLANE.control.names == list(IN_PLANE)
    assert 'inertia_xz' not in PLANE.parameters.names


def test_it_has_about_the_operations_of_the_hand_written_plane():
    own, by_hand = PLANE.mode, ORACLE.mode
    assert own.dynamics.n_instructions() < 1.2 * by_hand.dynamics.n_instructions()
    assert own.wrench.n_instructions() < 1.2 * by_hand.wrench.n_instructions()


@settings(max_examples=60, deadline=None)
@given(
    betas=st.tuples(*[st.floats(-3.0, 3.0)] * 2),
    rest=st.tuples(*[numbers] * 7),
    u=st.tuples(*[numbers] * 3),
)
def test_rates_wrench_and_guards_are_those_of_the_hand_written_plane(betas, rest, u):
    (p_x, p_z, u_h, *velocities), p = rest, PLANE.take_parameters(CONTACT[1])
    x = np.concatenate([turn(betas[0]), [p_x, p_z], turn(betas[1]), [u_h], velocities])
    y = np.array([betas[0], p_x, p_z, betas[1], u_h, *velocities])
    rate, expected = (
        np.array(s.mode.dynamics(z, u, 0, q)).ravel()
        for s, z, q in ((PLANE, x, p), (ORACLE, y, P_ORACLE))
    )
    kept = [2, 3, 6, 7, 8, 9, 10]
    np.testing.assert_allclose(rate[kept], expected[[1, 2, *range(4, 9)]], rtol=1e-11, atol=1e-10)
    wrench = ORACLE.mode.wrench(y, u, 0, P_ORACLE)
    np.testing.assert_allclose(PLANE.mode.wrench(x, u, 0, p), wrench, rtol=1e-11, atol=1e-10)
    for name, guard in ORACLE.mode.guards.items():
        if name != 'edge':  # the hand-written plate is 2 m wide along y
            found = float(PLANE.mode.guards[name](x, u, 0, p))
            assert found == pytest.approx(float(guard(y, u, 0, P_ORACLE)), rel=1e-10, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), mode=st.sampled_from(sorted(HYBRID[0].modes)))
def test_the_whole_motion_stays_in_the_part_in_every_mode(seed, mode):
    whole, p, _ = HYBRID
    rng = np.random.default_rng(seed)
    x, u = rng.uniform(-1, 1, PLANE_HYBRID.state.size), rng.uniform(-1, 1, 3)
    big_x, big_u = PLANE_HYBRID.expand_states(x), PLANE_HYBRID.expand_controls(u)
    rate = np.array(whole.modes[mode].dynamics(big_x, big_u, 0, p)).ravel()
    assert not rate[PLANE_HYBRID.rest_index].any()
    own = PLANE_HYBRID.modes[mode].dynamics(x, u, 0, PLANE_HYBRID.take_parameters(p))
    np.testing.assert_allclose(
        np.array(own).ravel(), rate[PLANE_HYBRID.state_index], rtol=1e-9, atol=1e-9
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_the_tangent_space_is_that_of_the_whole(seed):
    system, rng = CONTACT[0], np.random.default_rng(seed)
    x, d = rng.uniform(-1, 1, PLANE.state.size), rng.uniform(-3, 3, PLANE.tangent.size)
    for name in ('q_WH', 'q_HO'):
        x[PLANE.state.slice(name)] /= np.linalg.norm(x[PLANE.state.slice(name)])
    big = np.zeros(system.tangent.size)
    big[PLANE.tangent_index] = d
    y = np.array(PLANE.retract(x, d)).ravel()
    moved = np.array(system.retract(PLANE.expand_states(x), big)).ravel()
    np.testing.assert_allclose(PLANE.expand_states(y), moved, atol=1e-12)
    np.testing.assert_allclose(np.array(PLANE.difference(y, x)).ravel(), d, atol=1e-12)


def test_a_throw_and_a_catch_are_those_in_space():
    """The object slips, flies, turning, lands, slides and rolls as the whole system does."""
    whole, p, x = HYBRID
    plants = (
        SteppedMotion(PLANE_HYBRID, PLANE_HYBRID.take_parameters(p), PLANE_HYBRID.take_states(x)),
        SteppedMotion(whole, p, x),
    )
    events = ([], [])
    for k in range(900):
        u = np.array([6.0, 3.0, 2.0]) if k < 150 else np.array([-20.0, -2.0, -9.0])
        u = u if k < 250 else np.array([-4.0, -1.0, 2.0]) * (k < 500)
        given = u, PLANE_HYBRID.expand_controls(u)
        for plant, log, control in zip(plants, events, given, strict=True):
            log.extend((e.name, e.time) for e in plant.step(control, 1e-3).events)
        own, space = (plant.state for plant in plants)
        assert own.mode == space.mode
        if own.stopped:
            break
    assert [e[0] for e in events[0]] == [e[0] for e in events[1]]
    assert {'lift_off', 'landing'} <= {e[0] for e in events[0]}
    np.testing.assert_allclose([e[1] for e in events[0]], [e[1] for e in events[1]], atol=1e-10)
    np.testing.assert_allclose(PLANE_HYBRID.expand_states(own.x), space.x, atol=1e-10)


def test_a_parameter_that_was_put_in_as_zero_is_refused_by_name():
    p = CONTACT[1].copy()
    p[CONTACT[0].parameters.names.index('inertia_xy')] = 1e-6
    with pytest.raises(ParameterError, match=r'inertia_xy: left out of the restriction'):
        PLANE.take_parameters(p)
    x = CONTACT[2].copy()
    x[CONTACT[0].state.names.index('v_WH_H_y')] = 0.1
    with pytest.raises(ParameterError, match='v_WH_H_y'):
        PLANE.take_states(x)


def test_an_off_centre_inertia_leaves_no_plane():
    system, p, x = CONTACT
    p = p.copy()
    p[system.parameters.names.index('inertia_xy')] = 1e-6
    assert restricted(system, p, x, IN_PLANE).tangent.size > PLANE.tangent.size


def test_values_at_rest_that_are_not_zero_are_parameters():
    system, p, x = CONTACT
    still = restricted(system, p, x, ['a_WH_H_x', 'a_WH_H_z'])
    assert still.parameters.entry('rest').components == ('q_WH_w',)
    assert 'q_WH' not in still.state
    q = still.take_parameters(p)
    assert q[-1] == 1.0
    rate = still.mode.dynamics(x[still.state_index], [1.0, 0.5], 0, q)
    whole = system.mode.dynamics(x, still.expand_controls([1.0, 0.5]), 0, p)
    np.testing.assert_allclose(rate, np.array(whole)[still.state_index], rtol=1e-12)


def test_it_passes_the_checks_of_any_system():
    x = CONTACT[2]
    check_system(PLANE, PLANE.take_parameters(CONTACT[1]), x[PLANE.state_index], duration=0.2)


class Blocks(WrittenSystem):
    """Two blocks that slide on their own; at a wall one reset is given from outside."""

    name = 'blocks'

    def __init__(self, reset):
        self.state = Layout((Entry('s', ('s_a', 's_b'), 'm'), Entry('v', ('v_a', 'v_b'), 'm/s')))
        self.control = Layout((Entry('f', ('f_a', 'f_b'), 'm/s^2'),))
        self.parameters = Layout((Entry('drag', ('drag',), '1/s'),))
        self.reset = reset

    @property
    def modes(self):
        (x, u, _, p) = self.symbols
        reset = self.reset(self.symbols) if self.reset is not python_reset else python_reset
        return {
            'sliding': Mode(
                dynamics=self.function('dynamics', ca.vertcat(x[2:], u - p * x[2:])),
                guards={'wall': self.function('wall', 1 - x[0])},
                resets={'wall': reset},
            )
        }

    @property
    def invariants(self):
        return {}

    @property
    def pose(self):
        raise NotImplementedError


def python_reset(s, u):
    return replace(s, x=s.x * [1, 1, -1, 1] + [0, 0.1, 0, 0])


def test_a_coordinate_stays_that_a_reset_moves():
    bounced = Blocks(lambda s: s.function('after', ca.vertcat(s.x[0:2], -s.x[2], s.x[3])))
    assert restricted(bounced, [1.0], np.zeros(4), ['f_a']).state.names == ['s_a', 'v_a']
    passed_on = Blocks(lambda s: s.function('after', ca.vertcat(s.x[0:2], 0, s.x[2])))
    assert restricted(passed_on, [1.0], np.zeros(4), ['f_a']).state.size == 4


def test_a_reset_in_python_may_not_move_what_rests():
    part = restricted(Blocks(python_reset), [1.0], np.zeros(4), ['f_a'])
    plant = SteppedMotion(part, part.take_parameters([1.0]), [0.99, 1.0])
    with pytest.raises(SimulationError, match=r"reset 'wall' at .* s_b"):
        plant.step([0.0], 0.1)
