"""Replay of a recording: every command bit by bit; what cannot be replayed is reported."""

from functools import cache
import json
from pathlib import Path
import shutil
import sys

from geometry_msgs.msg import AccelStamped
import numpy as np
import pytest
from rolling_controller.design import follow, Wanted
from rolling_controller.nodes.controller_parameters import HAND_TABLE
from rolling_dynamics.contact.contact_view import StateSource
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.fingerprint import fingerprint
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario_model import load_model, MOST
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.conversions import list_to_vector, nanoseconds_to_time
from rolling_node_kit.parameters import parameter_values
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message
from rolling_robotics.cli import main
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.laws import replay_laws
from rolling_robotics.recordings.writer import Recording, Topic

sys.path.append(str(Path(__file__).parent))

from bags import cdr, in_force, log_into
from bags import STEPS as LOGGED

pytestmark = pytest.mark.ros
SCENARIO, STEP, START, STEPS = 'ball_on_plate_hard.yaml', 10_000_000, 5_000_000_000, 20
TOPICS = {
    'hand/odometry': 'nav_msgs/msg/Odometry',
    'object/odometry': 'nav_msgs/msg/Odometry',
    'hand/accel_command': 'geometry_msgs/msg/AccelStamped',
    'execution/plan': 'rolling_interfaces/msg/RollingPlan',
    'execution/settings': 'rcl_interfaces/msg/ParameterEvent',
}
OLDER = {'recording_format': 1}  # without a log of the controller


def settings(**changes):
    return {e.name: e.default for e in HAND_TABLE} | {
        'scenario_file': SCENARIO,
        'use_sim_time': True,
        **changes,
    }


WEAK = 0.01, 0.01, 0.0, 0.0, 0.0, 0.0  # what a plan leaves at zero, its feedback leaves alone
STRONG = 100.0, -100.0, 0.0, 100.0, -3.0, 0.0  # rad/s^2, m/s^2


def small_plan(model, control):
    count = 5
    return Plan(
        system=model.system.name,
        model_hash=model.system.model_hash,
        state_names=model.system.state.names,
        control_names=model.system.control.names,
        times=np.linspace(0, STEPS * STEP * 1e-9, count),
        states=np.tile(model.start, (count, 1)),
        controls=np.tile(control, (count, 1)),
    )


def bodies(rng):
    """Return odometry of a hand and of the ball on it, a little off the rest."""
    hand, ball = np.zeros(13), np.zeros(13)
    hand[0] = ball[0] = 1.0
    ball[4:7] = [*rng.normal(0, 2e-3, 2), 0.1]
    hand[7:13], ball[7:13] = rng.normal(0, 1e-3, 6), rng.normal(0, 1e-3, 6)
    return hand, ball


@cache
def recorded_machine(open_loop, control):
    """Return the model, the plan, and the law along it by the weights of the parameters."""
    model = load_model(SCENARIO).limited()
    plan = small_plan(model, control)
    return model, plan, follow(Wanted(model, plan, settings(open_loop=open_loop))).law


def write_recording(folder, values, change=lambda _k, u: u, control=WEAK):
    """Write what a controller would have seen, logged and sent; return the folder."""
    model, plan, law = recorded_machine(values['open_loop'], control)
    contact_h = model.start[model.system.state.slice('contact_h')]
    seen = Measurements(StateSource(model.system, model.params, contact_h))
    recording = Recording(folder, ('rolling_interfaces',), longest_queue=1000)
    logged = {} if values.get('recording_format') else LOGGED
    for name, kind in {**TOPICS, **logged}.items():
        recording.add(Topic(f'/{name}', kind, latched=False))
    clock = iter(range(1, 10_000))

    def put(topic, data):
        recording.put(f'/{topic}', next(clock), data)

    log = None
    if logged:
        log = log_into(put, lambda: values)(law, {'task': 'execution'})
    else:
        put('execution/settings', cdr(in_force(values)))
    put('execution/plan', cdr(plan_to_message(plan, nanoseconds_to_time(START), 'world')))
    encoders = OdometryEncoder('world', 'hand'), OdometryEncoder('world', 'object')
    rng = np.random.default_rng(3)
    for k in range(STEPS):
        stamp = START + k * STEP
        for name, body, encoder in zip(TOPICS, bodies(rng), encoders, strict=False):
            data = bytes(encoder.encode(stamp, body.tolist()))
            seen.take(data, name)
            put(name, data)
        x, t = seen.state()[1], (stamp - START) * 1e-9
        u = law.step(None, x, t)[1]
        limits = model.control_limits
        u = change(k, np.clip(u, -limits, limits))
        if log:
            log.note(stamp, t, x, u)
        command = AccelStamped()
        command.accel.angular, command.accel.linear = map(
            list_to_vector, (u[:3].tolist(), u[3:].tolist())
        )
        command.header.stamp, command.header.frame_id = nanoseconds_to_time(stamp), 'hand'
        put('hand/accel_command', cdr(command))
    if log:
        log.flush()
    recording.close()
    assert not recording.fault
    return folder


@pytest.fixture(scope='module')
def good(tmp_path_factory):
    return write_recording(tmp_path_factory.mktemp('replay') / 'bag', settings())


@pytest.mark.parametrize('more', [{}, {'use_sim_time': False}, OLDER])
def test_every_command_is_found_bit_by_bit(tmp_path, more):
    """By the clock, too; without a log of the controller, from its states and commands."""
    folder = write_recording(tmp_path / 'bag', settings(**more))
    with Recorded(folder) as recorded:
        (run,) = replay_laws(recorded)
    assert (run.recorded, run.equal, run.difference) == (STEPS, STEPS, 0.0)
    assert np.abs(run.expected).max() > 1e-3  # there was something to do


def test_open_loop_is_replayed_without_feedback(tmp_path):
    folder = write_recording(tmp_path / 'bag', settings(open_loop=True))
    with Recorded(folder) as recorded:
        (run,) = replay_laws(recorded)
    assert (run.title, run.equal) == ('execution 1, open loop', STEPS)
    assert run.computed == pytest.approx(np.tile([0.01, 0.01, 0, 0, 0, 0], (STEPS, 1)))


def test_commands_beyond_the_limits_are_replayed_as_they_were_sent(tmp_path):
    """Also along a scenario that limits the turning of the hand alone."""
    folder = write_recording(tmp_path / 'bag', settings(open_loop=True), control=STRONG)
    with Recorded(folder) as recorded:
        (run,) = replay_laws(recorded)
    assert run.equal == STEPS
    assert run.computed[0] == pytest.approx([50, -50, 0, MOST[3], -3, 0])


def test_command_line_tells_and_finds_a_single_changed_bit(good, tmp_path, capsys):
    assert main(['replay', str(good)]) == 0
    assert f'closed loop: {STEPS} of {STEPS} commands equal' in capsys.readouterr().out
    changed = write_recording(
        tmp_path / 'bag', settings(), lambda k, u: np.nextafter(u, 1) if k == 7 else u
    )
    assert main(['replay', str(changed)]) == 1
    assert f'{STEPS - 1} of {STEPS} commands equal' in capsys.readouterr().out


ELSEWHERE = json.dumps(json.loads(fingerprint()) | {'NumPy': '1.26.0'})


@pytest.mark.parametrize(
    ('machine', 'reason'),
    [
        ('', 'the recording has no fingerprint of the machine'),
        (ELSEWHERE, f"'NumPy' was '1.26.0', here {np.__version__}"),
        ('[1]', "the fingerprint of the machine is damaged: '[1]'"),
    ],
)
def test_a_recording_of_another_machine_is_compared_to_1e_9(machine, reason, tmp_path, capsys):
    values = settings(fingerprint=machine)
    close = write_recording(tmp_path / 'close', values, lambda _k, u: u * (1 + 1e-13))
    assert main(['replay', str(close)]) == 0
    out = capsys.readouterr().out
    assert f'{STEPS} of {STEPS} commands equal to 1e-09, largest difference' in out
    assert f'  not compared bit by bit: {reason}\n' in out


def test_a_larger_difference_from_another_machine_is_found(tmp_path, capsys):
    values = settings(fingerprint=ELSEWHERE)
    off = write_recording(tmp_path / 'off', values, lambda k, u: u + 1e-7 * (k == 7))
    assert main(['replay', str(off)]) == 1
    assert f'{STEPS - 1} of {STEPS} commands equal to 1e-09' in capsys.readouterr().out


def test_other_weights_give_other_commands(tmp_path):
    """The settings of the recording are those that are used."""
    folder = write_recording(tmp_path / 'bag', settings())
    with Recorded(folder) as recorded:
        original = recorded.messages

        def heavier(names):
            for name, stamp, message in original(names):
                if name != 'execution/settings':
                    yield name, stamp, message
                    continue
                yield name, stamp, in_force(parameter_values(message) | {'control_weight': 7.0})

        recorded.messages = heavier
        (run,) = replay_laws(recorded)
    assert run.equal < STEPS


def test_what_cannot_be_replayed_is_told(tmp_path, good, capsys):
    assert main(['replay', str(tmp_path / 'nothing')]) == 2
    assert 'no such folder' in capsys.readouterr().err
    (tmp_path / 'empty').mkdir()
    assert main(['replay', str(tmp_path / 'empty')]) == 2
    assert 'is not a readable recording' in capsys.readouterr().err
    for more in ({'use_sim_time': False}, {'estimate_state': True}):
        older = write_recording(tmp_path / next(iter(more)), settings(**more, **OLDER))
        with Recorded(older) as recorded, pytest.raises(ParameterError, match='has no log'):
            replay_laws(recorded)
    damaged = tmp_path / 'damaged'
    shutil.copytree(good, damaged)
    path = next(damaged.glob('*.mcap'))
    path.write_bytes(path.read_bytes()[:500])  # less than the first chunk, whenever it was written
    assert main(['replay', str(damaged)]) == 2


def test_a_recording_of_a_newer_format_says_so(tmp_path):
    folder = write_recording(tmp_path / 'newer', {**settings(), 'recording_format': 3})
    text = 'has version 3 of its format; this suite replays up to 2'
    with Recorded(folder) as recorded, pytest.raises(ParameterError, match=text):
        replay_laws(recorded)
