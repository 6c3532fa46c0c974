"""
Experiments of the laboratory: damping, flip-up, throw and catch, balance, one run at a time.

It takes states of hand and object, from an estimator or a simulator, and sends accelerations of
the hand. Plans and laws of an experiment are computed when the node is configured. With
``autostart`` it becomes active after that and after a first state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
import math
import time
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.task import Future
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.laboratory.laws import (
    EXPERIMENTS,
    LAWS,
    PREDICTED,
    Prepared,
    subject_of,
)
from rolling_controller.law import Law
from rolling_controller.motion_watch import HandBound
from rolling_controller.nodes.control_loop import Controlled, ControlLoop, Task
from rolling_controller.nodes.controller_parameters import LOOP
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.machines import braking, ControlledHand, Hand, hand_velocity
from rolling_controller.nodes.prediction import Prediction
from rolling_controller.nodes.step_log import TASK
from rolling_controller.predictive.beside import PredictingBeside
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import settle
from rolling_dynamics.errors import ParameterError, quoted, RollingError
from rolling_dynamics.scenario_model import check_limits, load_model
from rolling_interfaces.action import RunExperiment
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.parameters import fixed, Parameter
from rolling_node_kit.periodic_loop import Punctuality
from rolling_node_kit.single_goal_server import Goal, INACTIVE, resolve, SingleGoalServer
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode

CODES = RunExperiment.Result


class ExperimentRun:
    """
    Runs the law of an experiment until something ends it.

    Attributes
    ----------
    control
        The loop of the run.
    ended, code
        Reason of its end, empty while it continues; and the error code of the action, NONE after
        its full duration.
    last
        Punctuality of the loop at its end.

    """

    def __init__(
        self,
        node: Node,
        equipment: LoopEquipment,
        law: Law[Any],
        duration: float,
        on_end: Callable[[ExperimentRun], None],
        on_progress: Callable[[Array, Array], None],
        name: str,
    ) -> None:
        """
        Prepare to run.

        Parameters
        ----------
        node, equipment
            The node, and what its loops use.
        law
            The law.
        duration
            After which it ends [s]; 0 for no end.
        on_end
            Called with the run at its end.
        on_progress
            Called with state and control, ``feedback_rate`` times per second.
        name
            Name of the law.

        """
        self._node, self._equipment = node, equipment
        self._on_end, self._on_progress = on_end, on_progress
        self.ended, self.code, self._next_progress = '', CODES.NONE, 0.0
        self.last: Punctuality | None = None
        self._bound: HandBound | None = None
        task = Task(
            law=law,
            finish=self._finish,
            about={'task': TASK, 'law': name},
            lost_modes=(),
            duration=lambda: duration or math.inf,
            on_start=self._begin,
            conclude=lambda _: self.control.end(CODES.NONE, 'the time is over'),
            judge=self._judge,
            failed=lambda text: self._report(CODES.INTERNAL, text),
        )
        self.control = ControlLoop(node, equipment, task)

    @property
    def balancing_since(self) -> float | None:
        """Time at which balance took over [s]; None before."""
        answers = self.control.answers
        return balancing_since(answers.law, answers.memory)

    def _finish(self, code: int, reason: str) -> None:
        """Bring the hand to rest, and report it."""
        self._equipment.bring_to_rest(self._node, self._bound if self.control.fault else None)
        self._report(code, reason)

    def _report(self, code: int, reason: str) -> None:
        self.ended, self.code = reason, code
        self.last = self.control.loop.read_punctuality()
        self._on_end(self)

    def _begin(self, _stamp: int) -> None:
        """Bound how far the hand goes from where it starts, measured and commanded."""
        self._start = self.control.measured.copy()
        states = np.array([self._start, self._start])
        self._bound = self._equipment.machine.bound(states)

    def _judge(self, _t: float, _x: Array, u: Array) -> tuple[int, str, Array]:
        """End a run whose hand goes too far; report state and control, if it is time to."""
        x, limited = self.control.measured, self._equipment.watch.limited(u)
        problem = ''
        if self._bound is not None:
            problem = self._bound.problem(self.control.time, x, self._start, limited)
        if problem:
            self.control.distrust(problem)
        elif self.control.time >= self._next_progress:
            self._next_progress = self.control.time + 1.0 / self._equipment.values['feedback_rate']
            self._on_progress(x, limited)
        return CODES.NONE, '', u


PHASES = RunExperiment.Feedback
COMPILE_LIMIT = 120.0  # maximum wait until the functions of a run are compiled [s]
LOOK_PERIOD = 0.05  # between two looks for a first state [s]
TABLE = (
    fixed('experiment', '', 'experiment', choices=('', *EXPERIMENTS)),
    fixed(
        'plan_file',
        '',
        'plan to follow, a file that `rolling plan` wrote for the scenario; empty = plan by '
        'its section plan',
    ),
    Parameter(
        'law',
        'closed_loop',
        'controller of runs whose goal names none: closed loop; replay of a flip-up, then '
        'balance; open loop; or a flip-up and balance by predictive control, which needs daqp',
        choices=LAWS,
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
        'distance of the hand from where a run starts, measured or commanded, its braking '
        'included, beyond which the run ends (m, rad)',
        limits=(0.01, 100.0),
    ),
    fixed('frame_prefix', '', 'prefix of the hand frame'),
    *LOOP,
)


class ControlledLaboratory(Controlled):
    """An object on a hand, moved by experiments: the action ``run_experiment``."""

    table = TABLE

    stopped = 'the hand is brought to rest'

    def __init__(self, node: SuiteNode) -> None:
        """Load the scenario and create topics."""
        super().__init__(node)
        v = self.values
        if not v['experiment']:
            raise ParameterError(f'experiment must be one of {", ".join(EXPERIMENTS)}, got none')
        model = load_model(v['scenario_file'])
        if v['finite_limits']:
            check_limits(model)
        self.subject = subject_of(v['experiment'], model, v['plan_file'])
        system, params = self.subject.system, self.subject.params
        self._limits = self.subject.limits(model.control_limits)
        source, widened = self.subject.source, self.subject.widened
        self._hand = Hand(node, v, source, system.state, self._limits, widened)
        given = system, params, self.subject.start, self._limits, model.errors
        self.equipment = LoopEquipment.of(node, self._hand, *given, begin=self.begin)
        self._prepared: Prepared | None = None
        self._running: ExperimentRun | None = None
        self._failed, self._runs = '', 0
        predicted = v['experiment'] in PREDICTED
        self._prediction = Prediction(node, system, params, shown=predicted)
        self._server = SingleGoalServer(node, RunExperiment, 'run_experiment', self._run)
        node.at_cleanup(self._server.destroy)
        node.get_logger().info(f'{model.title}: {v["experiment"]}, {v["rate"]:g} steps per second')

    @classmethod
    def law_of(cls, values: Mapping[str, Any], _plan: object) -> tuple[Law[Any], Array | None]:
        """Return the law of a recorded run again; see :class:`Controlled`."""
        named = (values[name] for name in ('scenario_file', 'experiment', 'plan_file'))
        prepared, safe = _prepared(*named, values['brake_time'])
        return _made(prepared, values['law'], safe, in_loop=values.get('use_sim_time', True)), None

    def preparing(self, *, busy: bool) -> str:
        """Return a text about the cause for which the first run waits; empty if it may start."""
        if not busy:
            return ''
        return 'preparing the laws' if self._prepared is None else self._hand.missing

    def prepare(self) -> None:
        """Plan and design, and wait for a first state."""
        begin, failed = time.monotonic(), ''
        try:
            prepared = self.subject.prepare()
            if self.values['law'] in prepared.laws:  # that it can be, and has its machine code
                prepared.laws[self.values['law']]()
            settle(COMPILE_LIMIT, lambda: not self.current)
        except RollingError as error:
            failed = str(error)
        except Exception as error:  # noqa: BLE001 - the node continues and reports why
            failed = f'{type(error).__name__}: {error}'
        if not self.current:  # configured again meanwhile
            return
        messages = self.node.get_logger()
        if failed:
            self._failed = failed
            messages.error(f'nothing can be run: {failed}')
            return
        if prepared.note:
            messages.info(prepared.note)
        self._prepared, hand = prepared, self._hand
        while self.values['autostart'] and not hand.measured.count:
            time.sleep(LOOK_PERIOD)
            if not self.current:
                return
            hand.poll()
            hand.measured.state()
        messages.info(f'ready after {time.monotonic() - begin:.1f} s of preparation')

    def deactivate(self) -> None:
        """End a run, the hand at rest."""
        self._end(CODES.INACTIVE, 'the node was deactivated')
        self._server.stop(INACTIVE)

    def stop(self) -> None:
        """End a run, the hand at rest."""
        self._end(CODES.CANCELLED, 'asked to stop')

    # -- runs -------------------------------------------------------------------------------

    async def _run(self, goal: Goal) -> RunExperiment.Result:
        wanted = goal.request
        law, duration = wanted.law or self.values['law'], wanted.duration
        code, text = self._refusal(wanted.experiment, law, duration)
        if text:
            return RunExperiment.Result(error_code=code, error_string=text)
        assert self._prepared is not None  # noqa: S101 (by _refusal)
        try:
            simulated = self.node.get_parameter('use_sim_time').value
            followed = _made(self._prepared, law, self._hand.safe, in_loop=simulated)
        except RollingError as error:
            return RunExperiment.Result(error_code=CODES.INFEASIBLE, error_string=str(error))
        ended = Future()
        self._prediction.show(followed)
        self._runs += 1
        run, hand = self._runs, self._hand
        hand.poll()
        hand.measured.restart()  # states from before, when the object was elsewhere
        goal.handle.publish_feedback(RunExperiment.Feedback(phase=PHASES.PHASE_WAITING))
        self._running = current = ExperimentRun(
            self.node,
            self.equipment,
            followed,
            duration or self.values['duration'],
            lambda over: resolve(self.node, ended, over),
            lambda x, u: goal.handle.publish_feedback(self._progress(current, x, u)),
            law,
        )
        current.control.loop.start()
        goal.on_stop(lambda: current.control.end(CODES.CANCELLED, 'asked to stop'))
        await ended
        self.node.alarm = current.ended if current.code == CODES.INTERNAL else ''
        self._prediction.show(None)
        self.node.get_logger().info(_ending(run, law, current))
        since = current.balancing_since
        return RunExperiment.Result(
            error_code=current.code,
            error_string=current.ended if current.code != CODES.NONE else '',
            run=run,
            law=law,
            start=nanoseconds_to_time(current.control.started or 0),
            duration=current.control.time,
            balancing_since=math.nan if since is None else since,
        )

    def _refusal(self, experiment: str, law: str, duration: float) -> tuple[int, str]:
        """Return an error code and the reason why a run cannot start, or the empty string."""
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
        return RunExperiment.Feedback(
            phase=PHASES.PHASE_BALANCING if balances else PHASES.PHASE_FOLLOWING,
            time=run.control.time,
            contact_mode=run.control.contact_mode,
            state_names=list(self.subject.system.state.names),
            state_values=x.tolist(),
            margin_names=list(self.subject.system.control.names),
            margin_values=(1.0 - np.abs(u) / self._limits).tolist(),
        )

    def _end(self, code: int, reason: str) -> None:
        if self._running is not None:
            self._running.control.end(code, reason)

    # -- health -----------------------------------------------------------------------------

    @property
    def control(self) -> ControlLoop | None:
        """The loop of the present run."""
        run = self._running
        return None if run is None or run.ended else run.control

    def health(self) -> Health:
        """Return the machine."""
        run = self._running
        running = run is not None and not run.ended
        values: dict[str, Any] = {'runs': self._runs, 'running': running}
        if run is not None and running:
            values['time [s]'] = run.control.time
        if self._failed:
            return ERROR, f'nothing can be run: {self._failed}', values
        if run is not None and run.control.fault:
            return ERROR, f'states are not plausible: {run.control.fault}', values
        waiting = 'preparing' if self._prepared is None else 'ready'
        if self._prepared is not None and self._prepared.note:
            values['prepared'] = self._prepared.note
        return self._prediction.health(OK, 'running' if running else waiting, values)


@lru_cache(maxsize=1)
def _prepared(
    scenario_file: str, experiment: str, plan_file: str, brake_time: float
) -> tuple[Prepared, Callable[[Array], Array]]:
    """Return the laws of an experiment again, and its safe command."""
    model = load_model(scenario_file)
    subject = subject_of(experiment, model, plan_file)
    limits = subject.limits(model.control_limits)
    velocity = hand_velocity(subject.system.state)
    return subject.prepare(), lambda x: braking(x[velocity], brake_time, limits)


def _made(
    prepared: Prepared, name: str, safe: Callable[[Array], Array], *, in_loop: bool
) -> Law[Any]:
    """Return a law of a run; its programs, if any, are solved in the loop or in a thread."""
    law = prepared.law(name)
    if isinstance(law, PredictiveLaw):
        law.safe = safe
        return PredictingBeside(law, in_loop=in_loop)
    return law


def controlled(given: Mapping[str, Any]) -> type[Controlled]:
    """Return what carries out experiments where parameters name one, else what follows plans."""
    return ControlledLaboratory if given.get('experiment') else ControlledHand


def _ending(number: int, law: str, run: ExperimentRun) -> str:
    r = run.last
    text = f'run {number} ({law}) ended after {run.control.time:.3f} s: {run.ended}'
    if r is None or not r.ticks:
        return text
    return (
        f'{text}; last second: {r.ticks} steps, {r.misses} late, worst wake-up '
        f'{r.worst_jitter * 1e3:.2f} ms late, mean work {r.mean_work * 1e6:.0f} us'
    )
