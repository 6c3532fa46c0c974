"""
Controller of the laboratory: damping, flip-up, throw and catch, balance, one run at a time.

It takes states of hand and object, from an estimator or a simulator, and sends accelerations of
the hand. What an experiment needs is planned and designed when the node is configured.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from rolling_controller.laboratory.laboratory_subject import Subject, subject_of
from rolling_controller.laboratory.laws import chosen_law, EXPERIMENTS, Prepared
from rolling_controller.laboratory.run_log import RunLog
from rolling_controller.nodes.controller_parameters import EXECUTION
from rolling_controller.nodes.execution import LoopEquipment
from rolling_controller.nodes.hand import Hand
from rolling_controller.nodes.machine import Array
from rolling_controller.nodes.trial import Trial, TrialState
from rolling_controller.predictor import Predictor
from rolling_dynamics.compiled import settle
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_dynamics.nodes.compiling_node import CompilingNode
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.common_parameters import OVERRUN
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.priority import drop_priority
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import EVENT, JOURNAL, LATCHED, overridable
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from std_msgs.msg import Int64MultiArray, String
from std_srvs.srv import Trigger

COMPILE_LIMIT = 120.0  # longest wait for what a run evaluates to be compiled [s]
LOOK_PERIOD = 0.05  # between two looks for a first state [s]
SHARED = (
    'scenario_file',
    'rate',
    'state_timeout',
    'stamp_tolerance',
    'brake_time',
    'prediction_horizon',
    'command_delay',
    *(entry.name for entry in OVERRUN),
)
TABLE = (
    Parameter(
        name='experiment',
        default='',
        choices=('', *EXPERIMENTS),
        read_only=True,
        text='what is run',
    ),
    Parameter(
        name='law',
        default='closed_loop',
        choices=('closed_loop', 'replay_balance', 'open_loop'),
        text='with feedback; a flip-up replayed, then balanced; or without feedback; from ~/start',
    ),
    Parameter(
        name='duration',
        default=0.0,
        low=0.0,
        high=3600.0,
        unit='s',
        text='time after which a run ends by itself; 0 = at ~/stop; from ~/start',
    ),
    Parameter(
        name='frame_prefix', default='', read_only=True, text='put before the frame of the hand'
    ),
    *(entry for entry in EXECUTION if entry.name in SHARED),
)


class LaboratoryHand(Hand):
    """The hand, moved by the accelerations that an experiment uses."""

    subject: Subject

    def send(self, u: Array, stamp: int) -> None:
        """Send a control of the experiment that is to act at a time [ns]."""
        super().send(self.subject.widened(u), stamp)


class LaboratoryControllerNode(CompilingNode):
    """Lifecycle node that runs an experiment at ``~/start``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._hand: LaboratoryHand | None = None
        self._equipment: LoopEquipment | None = None
        self._prepared: Prepared | None = None
        self._failed = ''
        self._trial: Trial | None = None
        self._runs = 0
        self._made: list[tuple[Any, Any]] = []

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario, create topics, and begin to plan."""
        v = self.values
        if not v['experiment']:
            raise ParameterError(f'experiment must be one of {", ".join(EXPERIMENTS)}, got none')
        model = load_model(v['scenario_file'])
        subject = subject_of(v['experiment'], model)
        self._hand = LaboratoryHand(
            self,
            v,
            subject.source,
            subject.system.state,
            subject.limits(model.control_limits),
        )
        self._hand.subject = subject
        self._equipment = LoopEquipment(
            machine=self._hand,
            predictor=Predictor(
                subject.system,
                subject.params,
                delay=v['command_delay'],
                horizon=v['prediction_horizon'],
            ),
            start=subject.start,
            values=v,
            sim_time=self.get_parameter('use_sim_time').value,
        )
        self._make_topics()
        self._tell({'phase': 'preparing'})
        self.get_logger().info(f'{model.title}: {v["experiment"]}, {v["rate"]:g} steps a second')
        threading.Thread(target=self._prepare, args=(subject,), daemon=True).start()

    def _make_topics(self) -> None:
        qos = overridable()
        contact = self.create_subscription(
            RollingContact, 'contact/state', self._take_contact, EVENT, qos_overriding_options=qos
        )
        self._status = self.create_publisher(
            String, '~/trial', LATCHED, qos_overriding_options=qos
        )
        self._steps = self.create_publisher(Int64MultiArray, '~/steps', JOURNAL)
        self._settings = self.create_publisher(String, '~/settings', JOURNAL)
        self._made = [
            (self.destroy_subscription, contact),
            (self.destroy_publisher, self._status),
            (self.destroy_publisher, self._steps),
            (self.destroy_publisher, self._settings),
            (self.destroy_service, self.create_service(Trigger, '~/start', self._start)),
            (self.destroy_service, self.create_service(Trigger, '~/stop', self._stop)),
        ]

    def _prepare(self, subject: Subject) -> None:
        """Plan and design, in a thread of its own."""
        drop_priority()
        begin = time.monotonic()
        try:
            prepared = subject.prepare()
            settle(COMPILE_LIMIT, lambda: self._equipment is None)
        except RollingError as error:
            self._failed = str(error)
        except Exception as error:  # noqa: BLE001 - the node lives on and says why
            self._failed = f'{type(error).__name__}: {error}'
        if self._equipment is None or self._hand is None or self._hand.subject is not subject:
            return
        if self._failed:
            self.get_logger().error(f'nothing can be run: {self._failed}')
            self._tell({'phase': 'failed', 'reason': self._failed})
            return
        if prepared.told:
            self.get_logger().info(prepared.told)
        self.get_logger().info(f'ready after {time.monotonic() - begin:.1f} s of preparation')
        hand = self._hand
        while not hand.measured.count:  # readers and writers may not have found each other yet
            time.sleep(LOOK_PERIOD)
            if self._hand is not hand:
                return
            hand.poll()
            hand.measured.state()
        self._prepared = prepared
        self._tell({'phase': 'ready', 'told': prepared.told, 'laws': list(prepared.laws)})

    def deactivate(self) -> None:
        """End a run, the hand at rest."""
        self._end('the node was deactivated')

    def cleanup(self) -> None:
        """Forget the scenario."""
        self._end('the node was cleaned up')
        for destroy, entity in self._made:
            destroy(entity)
        self._made = []
        if self._hand is not None:
            self._hand.destroy()
        self._hand = self._equipment = self._prepared = self._trial = None
        self._failed = ''

    # -- runs -------------------------------------------------------------------------------

    def _take_contact(self, message: RollingContact) -> None:
        trial = self._trial
        if trial is not None:
            trial.contact_mode = message.mode

    def _start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self._refusal()
        response.success = not response.message
        if response.success:
            self._begin()
            response.message = f'run {self._runs}: {self.values["law"]}'
        return response

    def _refusal(self) -> str:
        """Return why no run can begin, or the empty string."""
        if not self.active or self._equipment is None:
            return f'the node is {self.state_label}'
        if self._prepared is None:
            return self._failed or f'the laws are being prepared, or {self._hand.missing}'
        if self.values['law'] not in self._prepared.laws:
            known = ', '.join(self._prepared.laws)
            return f'this experiment has the laws {known}; got {self.values["law"]!r}'
        if self._trial is not None and not self._trial.state.ended:
            return 'a run goes on; ~/stop ends it'
        return ''

    def _begin(self) -> None:
        assert self._prepared is not None  # noqa: S101 (by _refusal)
        assert self._equipment is not None  # noqa: S101
        law, name = chosen_law(self._prepared, self.values['law']), self.values['law']
        self._runs += 1
        run = self._runs

        def changed(state: TrialState) -> None:
            phase = 'ended' if state.ended else 'running'
            self._tell(
                {
                    'phase': phase,
                    'run': run,
                    'law': name,
                    'started': state.started,
                    'duration': state.time,
                    'complete': state.complete,
                    'reason': state.ended,
                    'balancing_since': law.balancing_since,
                }
            )
            if state.ended:
                self.get_logger().info(_ending(run, name, state))

        self._hand.poll()
        self._hand.measured.restart()  # states from before, when the object was elsewhere
        settings = {**self.values.as_dict(), 'use_sim_time': self._equipment.sim_time}
        self._settings.publish(String(data=json.dumps(settings)))
        log = RunLog(lambda numbers: self._steps.publish(Int64MultiArray(data=numbers)))
        self._trial = Trial(self, self._equipment, law, self.values['duration'], changed, log)

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._end('asked to stop')
        response.success, response.message = True, 'the hand is brought to rest'
        return response

    def _end(self, reason: str) -> None:
        if self._trial is not None:
            self._trial.end(reason)

    def _tell(self, status: dict[str, Any]) -> None:
        self._status.publish(String(data=json.dumps(status)))

    # -- health -----------------------------------------------------------------------------

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop of the run that goes on."""
        trial = self._trial
        return None if trial is None or trial.state.ended else trial.loop

    def health(self) -> Health:
        """Return what is run."""
        if self._equipment is None or self._hand is None:
            return OK, 'not running', {}
        measured, trial = self._hand.measured, self._trial
        running = trial is not None and not trial.state.ended
        values: dict[str, Any] = {
            'states taken': measured.count,
            'state age [s]': measured.age,
            'runs': self._runs,
            'running': running,
        }
        if trial is not None and running:
            values['time [s]'] = trial.state.time
        if self._failed:
            return ERROR, f'nothing can be run: {self._failed}', values
        if measured.refused:
            message, measured.refused = measured.refused, ''
            return WARN, message, values
        waiting = 'ready' if self._prepared is not None else 'preparing'
        return OK, 'running' if running else waiting, values


def _ending(run: int, law: str, state: TrialState) -> str:
    r = state.last
    text = f'run {run} ({law}) ended after {state.time:.3f} s: {state.ended}'
    if r is None or not r.ticks:
        return text
    return (
        f'{text}; last second: {r.ticks} steps, {r.misses} late, worst wake-up '
        f'{r.worst_jitter * 1e3:.2f} ms late, mean work {r.mean_work * 1e6:.0f} us'
    )


def main() -> int:
    """Run the node."""
    return run_node(LaboratoryControllerNode)


if __name__ == '__main__':
    sys.exit(main())
