"""Executions by every kind of robot come out bit by bit, one that ended early among them."""

from dataclasses import replace
from pathlib import Path
import sys
import time
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from rolling_controller.design import follow, Options, Wanted
from rolling_controller.law import Following, FunctionLaw, GoingOn, OpenLoop, state_inputs
from rolling_controller.motion_watch import MotionWatch, Predictor, Unwatched
from rolling_controller.nodes import equipment as equipment_module
from rolling_controller.nodes.control_loop import CODES, HELD
from rolling_controller.nodes.controller_parameters import law_parameters
from rolling_controller.nodes.driving import Driving
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.execution import Execution, Standing
from rolling_controller.nodes.machines import ControlledRobot, ROBOT_TABLE
from rolling_controller.nodes.step_log import COLUMNS, rows_in
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_controller.tracker import Tracker
from rolling_dynamics.configuration import find_scenario
from rolling_dynamics.nodes.measurements import RobotStates
from rolling_dynamics.nodes.topics import CommandTopic
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation import simulate
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.cdr import JointStateEncoder
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.periodic_loop import Punctuality
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.laws import replay_laws
from rolling_robotics.recordings.writer import Recording, Topic

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).resolve().parents[1] / 'controller'))

from bags import cdr, log_into, STEPS
from robot_cases import Case, CASES

PERIOD = 20_000_000  # ns
SETTLE = 0.2  # s after the end of a plan, in which laws go on
CUT = 21  # steps after which the first execution is ended
TOPICS = {
    'robot/state': 'sensor_msgs/msg/JointState',
    'execution/plan': 'rolling_interfaces/msg/RollingPlan',
    'execution/settings': 'rcl_interfaces/msg/ParameterEvent',
    **STEPS,
}


class StandingLoop:
    """A loop that the test turns by hand."""

    def __init__(self, *_args, **_options):
        self.start = self.stop = lambda: None
        self.read_punctuality = Punctuality


def driven_by_topic(name):
    """Return a shipped machine whose drives take their commands by a topic."""
    text = find_scenario(name).read_text().replace('kind: motor,', 'kind: motor, topic: motors,')
    given = {'position': (0.0, 0.0), 'rotation': (0.0, 0.0, 0.0)}
    return Case(text=text, planned=small_plan, better=1.0, **given)


class Machine:
    """The robot of a controller; what it sends goes into the recording and to the plant."""

    def __init__(self, model, put):
        self.measured = RobotStates(model.system.state)
        self.poll = self.wait = self.bound = lambda *_: None
        self.await_acknowledgement = lambda _: None
        self.sent = np.zeros(model.system.control.size)
        self.topic = CommandTopic(model.system, model.scenario.actuators)
        self._put = put

    def send(self, u, stamp):
        self.sent = np.array(u)
        self._put(self.topic.name, cdr(self.topic.message(self.sent, stamp)))

    def safe(self, _):
        return np.zeros(self.sent.size)


class Rehearsal:
    """Executions in this process, recorded as the nodes of a robot would be."""

    def __init__(self, name, folder):
        self.case = CASES[name] if name in CASES else driven_by_topic(name)
        scenario, self.path = self.case.load(folder)
        self.model = model = load_robot(str(self.path))
        self.plan = small_plan(model) if name != 'pendulum' else self.case.planned(scenario)
        self.plant = emulated_robot(model)
        known = robot_kind(model.system.name)
        table = *ROBOT_TABLE, *law_parameters(known)
        self.values = {e.name: e.default for e in table} | {
            'scenario_file': str(self.path),
            'use_sim_time': True,
            'settle_time': SETTLE,
        }
        self.pause = 0.0  # in which predictions are made beside the loop [s]
        self.recorded, self.values = self.values, self.values | {'state_timeout': 1e9}
        self.recording = Recording(folder / 'bag', ('rolling_interfaces',), longest_queue=100_000)
        self._arrivals, self.now = iter(range(1, 10**6)), 5 * 10**9
        self.machine = Machine(model, self.put)
        sent = self.machine.topic
        package = sent.kind.__module__.partition('.')[0]
        for topic, kind in {**TOPICS, sent.name: f'{package}/msg/{sent.kind.__name__}'}.items():
            self.recording.add(Topic(f'/{topic}', kind, latched=False))
        self.node = SimpleNamespace(executor=None)
        self.encode = JointStateEncoder(model.system.state.names, ('position',)).encode
        self.robot = known.make(model.scenario, Options(self.values, known))
        self.equipment = Equipment(
            machine=self.machine,
            tracker=Tracker(model.system, model.params, limits=model.control_limits, patience=1e9),
            predictor=(predictor := Predictor(model.system, model.params, delay=0.0, horizon=0.1)),
            watch=MotionWatch(model.system, predictor),
            start=model.start,
            values=self.values,
            once=True,
            begin=log_into(self.put, lambda: self.recorded),
        )

    def put(self, topic, data):
        self.recording.put(f'/{topic}', next(self._arrivals), data)

    def measure(self):
        """Report the state, each third one twice, as a plant does that waits for an answer."""
        self.now += PERIOD
        data = self.encode(self.now, self.plant.observe().x.tolist())
        for _ in range(2 if self.now // PERIOD % 3 == 0 else 1):
            self.put('robot/state', data)
            self.machine.measured.take(data)

    def started(self, stamp):
        message = plan_to_message(self.plan, nanoseconds_to_time(stamp), 'odom')
        self.put('execution/plan', cdr(message))

    def execute(self, steps, *, open_loop):
        """Follow the plan to its end, or for some steps."""
        self.plant.reset(position=self.case.position, rotation=self.case.rotation)
        self.recorded = {**self.recorded, 'open_loop': open_loop}
        following = (
            Following(OpenLoop(self.model.system, self.plan), self.plan.times, self.plan.states)
            if open_loop
            else self.robot.follow(self.plan)
        )
        self.follow(steps, following)

    def follow(self, steps, following, standing=None, later=0):
        """Follow the plan by a law, some time after now [ns] if it is held until then."""
        plan = RollingPlan()
        if later:
            plan.header.stamp = nanoseconds_to_time(self.now + PERIOD + later)
        goal = SimpleNamespace(
            request=SimpleNamespace(plan=plan),
            handle=SimpleNamespace(publish_feedback=lambda _: None),
        )
        given = goal, self.plan, following, self.started, standing
        execution = Execution(self.node, self.equipment, *given)
        if self.turn(steps, execution.control) == steps:
            execution.end(CODES.CONTACT_LOST, 'the contact was lost')

    def turn(self, steps, control):
        """Return how many steps a loop made, of these at most."""
        for k in range(steps):
            self.measure()
            time.sleep(self.pause)
            if not control.tick():
                return k
            self.plant.step(self.machine.sent, PERIOD * 1e-9)
        return steps


def small_plan(model):
    """Return a motion that is not a plan of a planner, but one."""
    times = np.linspace(0.0, 0.6, 13)
    u = 0.05 * np.random.default_rng(3).normal(size=(len(times), model.system.control.size))
    rolled = simulate(model.system, model.params, model.start, (times, u), 0.6, t_eval=times)
    return Plan(
        system=model.system.name,
        model_hash=model.system.model_hash,
        state_names=model.system.state.names,
        control_names=model.system.control.names,
        times=times,
        states=rolled.states,
        controls=u,
    )


@pytest.mark.parametrize('name', ['ball', 'disk', 'pendulum', 'spin_rolling', 'driven_shell'])
def test_every_command_is_found_bit_by_bit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(equipment_module, 'PeriodicLoop', StandingLoop)
    rehearsal = Rehearsal(name, tmp_path)
    duration = rehearsal.plan.duration
    rehearsal.execute(CUT, open_loop=True)
    rehearsal.execute(CUT, open_loop=False)
    rehearsal.execute(10**6, open_loop=False)
    rehearsal.recording.close()
    assert not rehearsal.recording.fault
    with Recorded(tmp_path / 'bag', rehearsal.path) as recorded:
        runs = replay_laws(recorded)
    whole = (duration + SETTLE) * 1e9 / PERIOD
    lengths = [CUT - HELD, CUT - HELD, round(whole)]
    assert [run.recorded for run in runs] == pytest.approx(lengths, abs=1)
    assert [len(run.computed) for run in runs] == [run.equal for run in runs]
    assert all(run.same for run in runs)
    assert len(np.unique(runs[-1].computed, axis=0)) > 10  # there was something to do


def test_commands_from_estimated_states_come_out_though_the_truth_is_recorded_beside(
    tmp_path, monkeypatch
):
    """What a law was given counts, not what the plant reports: one is a little off the other."""
    monkeypatch.setattr(equipment_module, 'PeriodicLoop', StandingLoop)
    rehearsal = Rehearsal('ball', tmp_path)
    rehearsal.recorded['estimate_state'] = True
    measured, take = rehearsal.machine.measured, rehearsal.machine.measured.state
    monkeypatch.setattr(measured, 'state', lambda: take() and (take()[0], take()[1] + 1e-4))
    rehearsal.execute(CUT, open_loop=False)
    rehearsal.recording.close()
    with Recorded(tmp_path / 'bag', rehearsal.path) as recorded:
        (run,) = replay_laws(recorded)
    assert run.same
    assert run.equal == CUT - HELD


def test_what_is_predicted_beside_the_loop_and_goes_on_comes_out(tmp_path, monkeypatch):
    """By the clock a step uses what another thread has made by then; a hold goes on."""
    monkeypatch.setattr(equipment_module, 'PeriodicLoop', StandingLoop)
    rehearsal = Rehearsal('ball', tmp_path)
    rehearsal.pause, rehearsal.values['settle_time'], held = 5e-3, 0.0, []
    rehearsal.recorded |= {'law': 'predictive', 'use_sim_time': False}
    wanted = Wanted(rehearsal.model, rehearsal.plan, rehearsal.recorded, beside=True)
    following = follow(wanted)._replace(hold=None)
    rehearsal.follow(10**6, following, Standing(begin=held.append))
    (hold,) = held
    about = {'task': 'hold', **hold.about}
    driving = Driving(rehearsal.node, rehearsal.equipment, hold.law, about=about)
    assert rehearsal.turn(CUT, driving.control) == CUT
    driving.safe = False
    driving.stop()
    before = GoingOn(driving.law, driving.control.answers.memory, 0.0)
    rehearsal.follow(CUT, follow(wanted), Standing(before), later=5 * PERIOD)
    rehearsal.recording.close()
    with Recorded(tmp_path / 'bag', rehearsal.path) as recorded:
        runs = replay_laws(recorded)
        rows = np.concatenate([rows_in(m) for _, _, m in recorded.messages(['controller/steps'])])
    assert [len(run.computed) for run in runs] == [run.equal for run in runs]
    assert all(run.same for run in runs)
    where = len(COLUMNS) + rehearsal.model.system.state.size
    assert len(np.unique(rows[:, where])) > 10  # answers that were used


def test_a_hold_that_goes_on_and_the_plan_after_it_come_out(tmp_path, monkeypatch):
    """What the law remembers at the end of a run is what the next one goes on from."""
    monkeypatch.setattr(equipment_module, 'PeriodicLoop', StandingLoop)
    rehearsal = Rehearsal('ball', tmp_path)
    rehearsal.values['settle_time'], held = 0.0, []
    rehearsal.equipment = replace(rehearsal.equipment, watch=Unwatched())
    system, plan = rehearsal.model.system, rehearsal.plan
    ones = ca.DM.ones(system.control.size)
    law = FunctionLaw(  # of what it remembers, of its time, and of the state
        state_inputs(system),
        system.control,
        lambda z, x, t, _: (z + x[0] + 0.1, 1e-3 * (z + t + ca.sum1(x)) * ones),
        memory=[0.0],
    )
    monkeypatch.setattr(ControlledRobot, 'law_of', lambda _values, _plan: (law, None))
    following = Following(law, plan.times, plan.states, holds=True)
    rehearsal.follow(10**6, following, Standing(begin=held.append))
    (hold,) = held
    assert hold.about == {'continues': True}
    about = {'task': 'hold', **hold.about}
    driving = Driving(rehearsal.node, rehearsal.equipment, hold.law, about=about)
    assert rehearsal.turn(CUT, driving.control) == CUT
    driving.safe = False
    driving.stop()
    before = GoingOn(driving.law, driving.control.answers.memory, 0.0)
    rehearsal.follow(CUT, following, Standing(before), later=5 * PERIOD)
    rehearsal.recording.close()
    with Recorded(tmp_path / 'bag', rehearsal.path) as recorded:
        runs = replay_laws(recorded)
        rows = rows_in([m for _, _, m in recorded.messages(['controller/steps'])][-1])
    assert [run.title.partition(',')[0] for run in runs] == [
        'execution 1',
        'hold 1',
        'execution 2',
    ]
    assert all(run.same for run in runs)
    assert rows[:, 2].tolist() == [1.0] * 5 + [0.0] * (len(rows) - 5)
