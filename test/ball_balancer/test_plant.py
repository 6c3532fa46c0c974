"""The plant of a ball balancer: against the contact system, its drives, servos and resistance."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import ContactSystem, Plane, simulate, Sphere
from rolling_dynamics.ball_balancer.plate import DRIVES, random_maps, TURNING
from rolling_dynamics.ball_balancer.system import BallBalancer
from rolling_dynamics.driven import driven, position_servo
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from transforms3d.quaternions import mat2quat

RADIUS, MASS, COUNT = 0.02, 0.033, 5.78e-4
EVEN = random_maps(seed=0, breakaway_length=0.015, slope=0.0, slope_length=0.05, half_width=0.1)


def with_servos(drive=None, **options):
    """Return a ball balancer, driven by its servos."""
    rig = BallBalancer(drive, **options)
    joints = rig.state.entry('servo'), rig.state.entry('servo_rate')
    return driven(rig, position_servo(TURNING, *joints, lagged=False))


def parameters(system, **changed):
    """Return p of an even plate without resistance, but for what is changed."""
    values = {
        'radius': RADIUS,
        'mass': MASS,
        'inertia': 0.4 * MASS * RADIUS**2,
        'gravity': 9.81,
        'surface_height': 0.03,
        'half_width': 0.2,
        'servo_speed': 1850 * COUNT,
        'servo_acceleration': 25000 * COUNT,
        'servo_stiffness': 100.0,
        'servo_lag': 0.03,
        'dead_band': 0.0,
        'breakaway_low': 0.0,
        'breakaway_high': 0.0,
        'kinetic_share': 0.5,
        'stribeck_speed': 2e-3,
        **EVEN,
    }
    lengths = {'axle_radius': 0.08, 'arm_length': 0.04}
    values |= lengths | changed
    return system.parameters.pack(
        **{name: values[name] for name in values if name in system.parameters}
    )


def derivatives(path, h=1e-3):
    """Return value, first and second derivative at zero, from differences of order 8."""
    f = [np.array(path(k * h)) for k in range(-4, 5)]
    one = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    two = [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
    first = sum(c * v for c, v in zip(one, f, strict=True)) / h
    second = sum(c * v for c, v in zip(two, f, strict=True)) / h**2
    return f[4], first, second


@pytest.mark.parametrize('kind', ['gimbal', 'legs'])
@pytest.mark.parametrize('seed', range(4))
def test_ball_moves_as_the_contact_system_has_it(kind, seed):
    """Plate motion by differences of its pose; ball by the suite's equations of contact."""
    rng = np.random.default_rng(seed)
    system = with_servos(DRIVES[kind](), resistance='smooth')
    p, n = parameters(system), system.control.size
    x = system.state.pack(
        ball=rng.uniform(-0.1, 0.1, 2),
        ball_rate=rng.uniform(-0.5, 0.5, 2),
        servo=rng.uniform(-0.25, 0.25, n),
        servo_rate=rng.uniform(-2, 2, n),
    )
    u = rng.uniform(-0.3, 0.3, n)
    rate = np.array(system.modes['rolling'].dynamics(x, u, 0, p)).ravel()
    theta, theta_rate, theta_acc = x[4 : 4 + n], x[4 + n :], rate[4 + n :]

    def plate(t):
        y = x.copy()
        y[4 : 4 + n] = theta + theta_rate * t + theta_acc * t**2 / 2
        return np.array(system.pose(y, p)[0])

    X, X_rate, X_acc = derivatives(plate)
    R = X[:3, :3]
    W = X_rate[:3, :3] @ R.T
    alpha = X_acc[:3, :3] @ R.T - W @ W
    w_W, alpha_W = ([M[2, 1], M[0, 2], M[1, 0]] for M in (W, alpha))
    contact = ContactSystem(Sphere(RADIUS), Plane(), friction='pure_rolling')
    q = contact.pack_parameters(mass=MASS, inertia=0.4 * MASS * RADIUS**2)
    v = x[2:4]
    y = contact.state.pack(
        q_WH=mat2quat(R),
        p_WH=X[:3, 3],
        q_HO=[1, 0, 0, 0],
        contact_h=x[:2],
        w_WH_H=R.T @ w_W,
        v_WH_H=R.T @ X_rate[:3, 3],
        w_HO_H=[-v[1] / RADIUS, v[0] / RADIUS, 0],
    )
    control = np.concatenate([R.T @ alpha_W, R.T @ X_acc[:3, 3]])
    mode = contact.modes[next(iter(contact.modes))]
    there = np.array(mode.dynamics(y, control, 0, q)).ravel()
    spun = there[contact.state.slice('w_HO_H')]
    assert there[contact.state.slice('contact_h')] == pytest.approx(v, abs=1e-12)
    assert rate[2:4] == pytest.approx([RADIUS * spun[1], -RADIUS * spun[0]], abs=1e-6)
    wrench = np.array(system.modes['rolling'].wrench(x, u, 0, p)).ravel()
    expected = np.array(mode.wrench(y, control, 0, q)).ravel()
    assert wrench == pytest.approx(expected, abs=1e-7)


def test_legs_hold_the_plate_by_joints_in_their_grooves():
    system = BallBalancer(DRIVES['legs']())
    p = parameters(system, surface_height=0.0)
    for tilt in ([0, 0], [0.1, 0], [-0.05, 0.12]):
        angles = np.array(system.servo_angles(tilt, p)).ravel()
        X = np.array(system.pose([*np.zeros(4), *angles, 0, 0, 0], p)[0])
        normal = np.array(
            BallBalancer().pose([*np.zeros(4), *tilt, 0, 0], parameters(BallBalancer()))[0]
        )
        assert X[:3, 2] == pytest.approx(normal[:3, 2], abs=1e-12)
        assert X[:3, :3].T @ X[:3, :3] == pytest.approx(np.eye(3), abs=1e-12)
        for k, angle in enumerate(angles):
            where = k * 2 * np.pi / 3
            out = 0.08 + 0.04 * np.cos(angle)
            joint = [out * np.cos(where), out * np.sin(where), 0.04 * np.sin(angle)]
            seen = X[:3, :3].T @ (joint - X[:3, 3])
            along = np.array([np.cos(where), np.sin(where), 0])
            assert np.cross(along, seen) == pytest.approx(np.zeros(3), abs=1e-12)
            assert along @ seen > 0


def test_servo_keeps_its_limits_and_stops_in_its_dead_band():
    system = with_servos(resistance='smooth')
    band = 3 * COUNT
    p = parameters(system, dead_band=band)
    target, dt = 200 * COUNT, 1e-3
    stepper, x = Stepper(system, p), np.zeros(8)
    rates, angles = [], []
    for _ in range(300):
        x = stepper.step(x, [target, 0], dt)
        angles.append(x[4] / COUNT)
        rates.append(x[6] / COUNT)
    accelerations = np.diff(rates) / dt
    assert max(rates) == pytest.approx(1850, rel=1e-3)
    assert max(accelerations) == pytest.approx(25000, rel=1e-6)
    assert min(accelerations) >= -25000 * (1 + 1e-9)
    assert max(angles) < 200
    braking = accelerations[rates.index(max(rates)) :]
    assert max(braking) < 250  # it does not chatter
    assert angles[-1] == pytest.approx(197, abs=0.1)


def test_a_ball_stays_until_the_breakaway_tilt_and_slows_by_the_kinetic_share():
    system = with_servos()
    p = parameters(system, breakaway_low=20 * COUNT, breakaway_high=20 * COUNT)
    stepper = Stepper(system, p)
    for tilt, mode in ((19.9 * COUNT, 'stuck'), (20.1 * COUNT, 'rolling')):
        x = np.zeros(8)
        x[4] = tilt
        s = stepper.begin(x, [tilt, 0])
        for _ in range(100):
            s = stepper.step(s, [tilt, 0], 1e-3)
        assert s.mode == mode
        assert (s.x[0] > 1e-5) == (mode == 'rolling')
    x = np.zeros(8)
    x[2:4] = [0.06, 0.08]
    s = stepper.begin(x)
    while s.mode == 'rolling':
        s = stepper.step(s, [0, 0], 1e-3)
    slowing = 5 / 7 * 9.81 * 10 * COUNT
    assert [e.name for e in s.events] == ['stop']
    assert s.events[0].time == pytest.approx(0.1 / slowing, rel=1e-3)
    assert np.hypot(*s.x[:2]) == pytest.approx(0.01 / 2 / slowing, rel=1e-3)


def test_without_resistance_a_ball_rests_on_a_level_plate_alone():
    system = with_servos()
    p, stepper = parameters(system), Stepper(system, parameters(system))
    level = stepper.step(stepper.begin(np.zeros(8)), [0, 0], 0.1)
    assert level.mode == 'stuck'
    motion = simulate(system, p, np.zeros(8), [10 * COUNT, 0], 0.5)
    tilted = motion.states[-1]
    assert tilted[4] == pytest.approx(10 * COUNT, rel=1e-6)
    lever = 5 / 7 * 9.81 * np.sin(10 * COUNT)
    later = simulate(system, p, tilted, [10 * COUNT, 0], 0.1).states[-1]
    assert later[2] - tilted[2] == pytest.approx(0.1 * lever, rel=1e-4)


def test_events_are_the_same_in_fixed_and_in_adaptive_steps():
    scenario = load_scenario('ball_balancer')
    motion = simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest,
        2.0,
        t_eval=[2.0],
        rtol=1e-8,
        atol=1e-10,
    )
    stepper = Stepper(scenario.system, scenario.p)
    s, events = stepper.begin(scenario.x0), []
    while s.t < 2.0 - 1e-9:
        s = stepper.step(s, scenario.control(s.t, s.x), 1e-3)
        events += s.events
    assert [e.name for e in events] == [e.name for e in motion.events] == ['stop', 'breakaway']
    found = [e.time for e in events]
    assert found == pytest.approx([e.time for e in motion.events], abs=2e-3)
    assert s.x[:2] == pytest.approx(motion.states[-1][:2], abs=2e-4)


def test_smooth_resistance_is_that_of_a_rolling_ball():
    rough, smooth = BallBalancer(), BallBalancer(resistance='smooth')
    p = parameters(rough, breakaway_low=0.01, breakaway_high=0.02)
    x = np.array([0.01, 0.02, 0.05, -0.03, 0.02, 0.01, 0.1, 0.2])
    rates = [s.modes['rolling'].dynamics(x, [0, 0], 0, p) for s in (rough, smooth)]
    assert np.array(rates[0]) == pytest.approx(np.array(rates[1]), abs=1e-9)
    f = smooth.modes['rolling'].dynamics
    J = ca.Function('J', f.mx_in(), [ca.jacobian(f.call(f.mx_in())[0], f.mx_in()[0])])
    x[2:4] = 0
    assert np.isfinite(np.array(J(x, [0, 0], 0, p))).all()


def test_commands_are_whole_counts_after_the_dead_time():
    scenario = load_scenario('ball_balancer')
    times, values = scenario.control.samples
    changed = times[np.flatnonzero(np.diff(values[:, 0]))]
    late = (changed - 0.030) * 29.7
    assert late == pytest.approx(np.round(late), abs=1e-9)
    counts = values / COUNT
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    assert abs(counts).max() == 45


@pytest.mark.parametrize(
    ('changed', 'text'),
    [
        ({'resistance': {'breakaway': [25, 10]}}, r'resistance: must be two numbers'),
        ({'plate': {'half_width': 0.1, 'drive': 'hexapod'}}, r"plate.drive: .*'hexapod'"),
        ({'servo': {'count': 0}}, 'servo'),
    ],
)
def test_what_makes_no_plant_is_refused(changed, text):
    raw = dict(load_scenario('ball_balancer').raw) | changed
    with pytest.raises(Exception, match=text):
        load_scenario(raw)


@pytest.mark.parametrize('name', ['ball_balancer', 'labyrinth'])
def test_energy_is_kept_without_servos_and_resistance(name):
    """A ball on a tilted plate that stands still gains what it loses in height, hills too."""
    system = load_scenario(name).system.whole
    names, p = system.parameters.names, load_scenario(name).p[: system.parameters.size].copy()
    if name == 'ball_balancer':
        p[names.index('kinetic_share')] = 0
    x, u = np.zeros(system.state.size), np.zeros(system.control.size)
    x[:5] = 0.02, 0.01, 0.05, 0.02, 0.03
    energy, stepper = system.invariants['energy'], Stepper(system, p, max_step=1e-4)
    before, kinetic = float(energy(x, u, 0, p)), []
    for _ in range(100):
        x = stepper.step(x, u, 2e-3)
        kinetic.append(0.7 * p[names.index('mass')] * (x[2] ** 2 + x[3] ** 2))
        assert float(energy(x, u, 0, p)) == pytest.approx(before, abs=1e-12)
    assert np.ptp(kinetic) > 1e-5
