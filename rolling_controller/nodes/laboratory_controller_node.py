"""
Controller of the laboratory: damping, flip-up, throw and catch, balance, one run at a time.

It takes states of hand and object, from an estimator or a simulator, and sends accelerations of
the hand. What an experiment needs is planned and designed when the node is configured; with
``autostart`` it becomes active once that is done and a first state came.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
import threading
import time
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.task import Future
from rolling_controller.laboratory.laws import (
    chosen_law,
    EXPERIMENTS,
    PREDICTED,
    PREDICTIVE,
    Prepared,
    Subject,
    subject_of,
)
from rolling_controller.laboratory.run_log import RunLog
from rolling_controller.law import Law
from rolling_controller.nodes.controller_parameters import EXECUTION
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.experiment_run import CODES, ExperimentRun, RunState
from rolling_controller.nodes.hand import HAND, Hand
from rolling_controller.nodes.machine import Controlled
from rolling_controller.nodes.prediction import Prediction
from rolling_controller.predictive.beside import PredictingBeside
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import settle
from rolling_dynamics.errors import ParameterError, quoted, RollingError
from rolling_dynamics.nodes.compiling_node import CompilingNode
from rolling_dynamics.scenario_model import check_limits, load_model
from rolling_interfaces.action import RunExperiment
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.common_parameters import OVERRUN
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.priority import drop_priority
from rolling_node_kit.qos import EVENT, JOURNAL
from rolling_node_kit.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN
from std_msgs.msg import Int64MultiArray
from std_srvs.srv import Trigger

PHASES = RunExperiment.Feedback
COMPILE_LIMIT = 120.0  # longest wait for what a run evaluates to be compiled [s]
LOOK_PERIOD = 0.05  # between two looks for a first state [s]
SHARED = (
    'scenario_file',
    'rate',
    'feedback_rate',
    'finite_limits',
    'state_timeout',
    'stamp_tolerance',
    'brake_time',
    'noisy_states',
    'prediction_horizon',
    'command_delay',
    *(entry.name for entry in OVERRUN),
)
TABLE = (
    Parameter('experiment', '', 'experiment', choices=('', *EXPERIMENTS), read_only=True),
    Parameter(
        'plan_file',
        '',
        'plan to follow, a file that `rolling plan` wrote for the scenario; empty = plan by '
        'its section plan',
        read_only=True,
    ),
    Parameter(
        'law',
        'closed_loop',
        'law of runs whose goal names none: closed loop; replay of a flip-up, then balance; '
        'open loop; or a flip-up and balance by predictive control, which needs daqp',
        choices=('closed_loop', 'replay_balance', 'open_loop', PREDICTIVE),
    ),
    Parameter(
        'duration',
        0.0,
        'duration of runs whose goal gives none; 0 = until cancelled',
        limits=(0.0, 3600.0),
        unit='s',
    ),
    Parameter(
        'tracking_bound',
        1.0,
        'distance of the hand from where a run starts, measured or commanded, beyond which '
        'the run ends (m, rad)',
        limits=(0.01, 100.0),
    ),
    Parameter('frame_prefix', '', 'prefix of the hand frame', read_only=True),
    *(entry for entry in EXECUTION if entry.name in SHARED),
)


class LaboratoryHand(Hand):
    """The hand, moved by the accelerations that an experiment uses."""

    subject: Subject

    def send(self, u: Array, stamp: int) -> None:
        """Send a control of the experiment that is to act at a time [ns]."""
        super().send(self.subject.widened(u), stamp)


class LaboratoryControllerNode(CompilingNode):
    """Lifecycle node with the action server ``run_experiment``."""

    table = TABLE

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._hand: LaboratoryHand | None = None
        self._equipment: LoopEquipment | None = None
        self._prepared: Prepared | None = None
        self._prediction = Prediction(self)
        self._preparation: threading.Thread | None = None
        self._failed = ''
        self._running: ExperimentRun | None = None
        self._runs = 0
        self._server: SingleGoalServer | None = None

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario, create topics, and begin to plan."""
        v = self.values
        if not v['experiment']:
            raise ParameterError(f'experiment must be one of {", ".join(EXPERIMENTS)}, got none')
        model = load_model(v['scenario_file'])
        if v['finite_limits']:
            check_limits(model)
        subject = subject_of(v['experiment'], model, v['plan_file'], self._predicting)
        self._limits = subject.limits(model.control_limits)
        self._hand = LaboratoryHand(self, v, subject.source, subject.system.state, self._limits)
        self._hand.subject = subject
        self._equipment = LoopEquipment.of(
            self, self._hand, subject.system, subject.params, subject.start, self._limits
        )
        self._make_topics()
        if v['experiment'] in PREDICTED:
            self._prediction.create(subject.system, subject.params)
            self.at_cleanup(self._prediction.destroy)
        self.get_logger().info(f'{model.title}: {v["experiment"]}, {v["rate"]:g} steps per second')
        self._preparation = threading.Thread(target=self._prepare, args=(subject,), daemon=True)
        self._preparation.start()

    def _make_topics(self) -> None:
        self.reader(RollingContact, 'contact/state', self._take_contact, EVENT)
        self._steps = self.writer(Int64MultiArray, '~/steps', JOURNAL)
        self._settings = self.writer(ParameterEvent, '~/settings', JOURNAL)
        self._server = SingleGoalServer(
            self,
            RunExperiment,
            'run_experiment',
            self._run,
        )
        self.at_cleanup(self._server.destroy)
        self.service(Trigger, '~/stop', self._stop)

    @property
    def _simulated(self) -> bool:
        return bool(self.get_parameter('use_sim_time').value)

    def _predicting(self, law: PredictiveLaw) -> Law[Any]:
        """Return what commands by a predictive law, without the loop waiting for a program."""
        law.safe = self._hand.safe
        return PredictingBeside(law, in_loop=self._simulated)

    @property
    def preparing(self) -> str:
        """What the first run waits for, in words; empty if it may begin."""
        if self._preparation is None or not self._preparation.is_alive():
            return super().preparing
        return 'preparing the laws' if self._prepared is None else self._hand.missing

    def _prepare(self, subject: Subject) -> None:
        """Plan and design, in a thread of its own."""
        drop_priority()
        begin, failed = time.monotonic(), ''
        try:
            prepared = subject.prepare()
            if self.values['law'] in prepared.laws:  # that it can be, and has its machine code
                prepared.laws[self.values['law']]()
            settle(COMPILE_LIMIT, lambda: self._equipment is None)
        except RollingError as error:
            failed = str(error)
        except Exception as error:  # noqa: BLE001 - the node lives on and says why
            failed = f'{type(error).__name__}: {error}'
        hand = self._hand
        if hand is None or hand.subject is not subject:  # configured again meanwhile
            return
        if failed:
            self._failed = failed
            self.get_logger().error(f'nothing can be run: {failed}')
            return
        if prepared.note:
            self.get_logger().info(prepared.note)
        self._prepared = prepared
        while self.values['autostart'] and not hand.measured.count:
            time.sleep(LOOK_PERIOD)
            if self._hand is not hand:
                return
            hand.poll()
            hand.measured.state()
        self.get_logger().info(f'ready after {time.monotonic() - begin:.1f} s of preparation')

    def deactivate(self) -> None:
        """End a run, the hand at rest."""
        self._end(CODES.INACTIVE, 'the node was deactivated')
        if self._server is not None:
            self._server.stop(INACTIVE)

    def cleanup(self) -> None:
        """Forget the scenario."""
        self._end(CODES.INACTIVE, 'the node was cleaned up')
        self._hand = self._equipment = self._prepared = self._running = None
        self._server = self._preparation = None
        self._failed = ''

    # -- runs -------------------------------------------------------------------------------

    def _take_contact(self, message: RollingContact) -> None:
        run = self._running
        if run is not None:
            run.control.contact_mode = message.mode

    async def _run(self, goal: Goal) -> RunExperiment.Result:
        wanted = goal.request
        law, duration = wanted.law or self.values['law'], wanted.duration
        code, text = self._refusal(wanted.experiment, law, duration)
        if text:
            return RunExperiment.Result(error_code=code, error_string=text)
        assert self._prepared is not None  # noqa: S101 (by _refusal)
        assert self._equipment is not None  # noqa: S101
        try:
            followed = chosen_law(self._prepared, law)
        except RollingError as error:
            return RunExperiment.Result(error_code=CODES.INFEASIBLE, error_string=str(error))
        ended = Future()
        self._prediction.show(followed)
        self._runs += 1
        run, hand = self._runs, self._hand
        hand.poll()
        hand.measured.restart()  # states from before, when the object was elsewhere
        self._settings.publish(self.values.in_force(law=law))
        goal.handle.publish_feedback(RunExperiment.Feedback(phase=PHASES.PHASE_WAITING))
        self._running = current = ExperimentRun(
            self,
            self._equipment,
            followed,
            duration or self.values['duration'],
            lambda state: resolve(self, ended, state),
            lambda x, u: goal.handle.publish_feedback(self._progress(current, x, u)),
            RunLog(lambda numbers: self._steps.publish(Int64MultiArray(data=numbers))),
        )
        current.control.loop.start()
        goal.on_stop(lambda: current.control.end(CODES.CANCELLED, 'asked to stop'))
        state: RunState = await ended
        self.alarm = state.ended if state.code == CODES.INTERNAL else ''
        self._prediction.show(None)
        self.get_logger().info(_ending(run, law, state))
        since = current.balancing_since
        return RunExperiment.Result(
            error_code=state.code,
            error_string=state.ended if state.code != CODES.NONE else '',
            run=run,
            law=law,
            start=nanoseconds_to_time(state.started or 0),
            duration=state.time,
            balancing_since=math.nan if since is None else since,
        )

    def _refusal(self, experiment: str, law: str, duration: float) -> tuple[int, str]:
        """Return an error code and why a run cannot begin, or the empty string."""
        served = self.values['experiment']
        if experiment not in {'', served}:
            return (
                CODES.INVALID_GOAL,
                f'experiment: this node runs {served}; got {quoted(experiment)}',
            )
        if not 0 <= duration < math.inf:
            return (
                CODES.INVALID_GOAL,
                f'duration must be finite and not negative [s], got {duration}',
            )
        if self._prepared is None:
            text = f'nothing can be run: {self._failed}' if self._failed else 'still preparing'
            return (CODES.INFEASIBLE if self._failed else CODES.INACTIVE), text
        if law not in self._prepared.laws:
            known = ', '.join(self._prepared.laws)
            return CODES.INVALID_GOAL, f'this experiment has the laws {known}; got {quoted(law)}'
        return CODES.NONE, ''

    def _progress(self, run: ExperimentRun, x: Array, u: Array) -> RunExperiment.Feedback:
        """Return how a run goes, in a state, under a control."""
        balances = run.balancing_since is not None
        out = RunExperiment.Feedback(
            phase=PHASES.PHASE_BALANCING if balances else PHASES.PHASE_FOLLOWING,
            time=run.state.time,
            contact_mode=run.control.contact_mode,
            state_names=list(self._hand.subject.system.state.names),
            state_values=x.tolist(),
        )
        out.margin_names = list(self._hand.subject.system.control.names)
        out.margin_values = (1.0 - np.abs(u) / self._limits).tolist()
        return out

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._end(CODES.CANCELLED, 'asked to stop')
        response.success, response.message = True, 'the hand is brought to rest'
        return response

    def _end(self, code: int, reason: str) -> None:
        if self._running is not None:
            self._running.control.end(code, reason)

    # -- health -----------------------------------------------------------------------------

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop of the run that goes on."""
        run = self._running
        return None if run is None or run.state.ended else run.control.loop

    def health(self) -> Health:
        """Return what is run."""
        if self._equipment is None or self._hand is None:
            return OK, 'not running', {}
        measured, run = self._hand.measured, self._running
        running = run is not None and not run.state.ended
        values: dict[str, Any] = {
            'states accepted': measured.count,
            'state age [s]': measured.age,
            'runs': self._runs,
            'running': running,
        }
        if run is not None and running:
            values['time [s]'] = run.state.time
        if self._failed:
            return ERROR, f'nothing can be run: {self._failed}', values
        if run is not None and run.control.fault:
            return ERROR, f'states are not plausible: {run.control.fault}', values
        if measured.refused:
            message, measured.refused = measured.refused, ''
            return WARN, message, values
        waiting = 'preparing' if self._prepared is None else 'ready'
        if self._prepared is not None and self._prepared.note:
            values['prepared'] = self._prepared.note
        return self._prediction.health(OK, 'running' if running else waiting, values)


def controller(given: Mapping[str, Any]) -> Controlled | type[SuiteNode]:
    """Return the controller of experiments where parameters name one, else that of plans."""
    return LaboratoryControllerNode if given.get('experiment') else HAND


def _ending(run: int, law: str, state: RunState) -> str:
    r = state.last
    text = f'run {run} ({law}) ended after {state.time:.3f} s: {state.ended}'
    if r is None or not r.ticks:
        return text
    return (
        f'{text}; last second: {r.ticks} steps, {r.misses} late, worst wake-up '
        f'{r.worst_jitter * 1e3:.2f} ms late, mean work {r.mean_work * 1e6:.0f} us'
    )
