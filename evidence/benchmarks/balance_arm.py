"""
Balance in space with the plate on a UR5e: full gravity, and the limits of its joints.

An ellipsoid on its end starts 0.1 rad off, each time to another side. Arm, motors and encoders are
as in the experiment balance_3d on emulated hardware; the regulator sees true states, 8 ms old.
Links and plate are up to 5 % heavier or lighter than believed, the object's inertia 10 %.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import replace

from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.law import answered
from rolling_dynamics.configuration import find_config
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm import Arm, Body, Chain
from rolling_hw_interface.arm_urdf import chain_from, model_from
from rolling_hw_interface.emulated_motors import EmulatedMotors, object_on_arm
from rolling_hw_interface.motor_bridge import MotorBridge
from rolling_hw_interface.motor_model import MotorModel
from rolling_robotics.calibration_report import read_parameters
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial, tried

TRIALS = 20
LEAN, UPRIGHT = 0.1, 0.02  # rad: at the start, and what counts as upright
DURATION, LAST = 4.0, 0.5  # s, of a trial and of its end that is judged
DELAY = 8  # ms
STEP = 1e-3  # s


class Balanced(Criterion):
    """The ellipsoid stands, the contact held and no limit was met."""

    def outcome(self, record: Record) -> Outcome:
        """Return what went wrong, and the greatest tilt at the end."""
        v = record.values
        limited = v['speed'] >= 1 or v['torque'] >= 1 or v['clipped']
        failure = record.ended or ('a joint was at a limit' if limited else '')
        failure = failure or ('' if v['tilt'] < UPRIGHT else 'not upright at the end')
        return Outcome(failure=failure, error=v['tilt'], tolerance=UPRIGHT, unit='rad')


class BalanceOnArm(Task):
    """Balance by the regulator, on the arm and the motors that it believes in."""

    def __init__(self) -> None:
        """Design the regulator at full gravity, and read the arm of the experiment."""
        given = read_parameters(find_config('balance_3d.yaml'))
        self.model = load_model(given['scenario_file'])
        self.subject = subject_of('balance_3d', self.model)
        self.laws = self.subject.prepare().laws
        self.chain = chain_from(given)
        self.motors = model_from(MotorModel, given, 'motors')
        self.slip_share = given['slip_share']

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial; it ends when the contact is lost.

        Returns
        -------
        Record
            Its values are the greatest ``tilt`` in the end [rad], greatest ``speed`` and
            ``torque`` of a joint as fractions of its limit, and ``clipped``, the steps in which a
            limit changed a command.

        """
        rng, system = np.random.default_rng(trial.seed), self.model.system
        p, start = self.model.params.copy(), self.model.start.copy()
        p[system.parameters.slice('inertia')] *= 1 + 0.1 * rng.uniform(-1, 1)
        side, half = rng.uniform(0, 2 * np.pi), LEAN / 2
        start[system.state.slice('q_HO')] = (
            np.cos(half), np.sin(half) * np.cos(side), np.sin(half) * np.sin(side), 0.0,
        )  # fmt: skip
        arm = Arm(_other(self.chain, rng))
        hand = np.concatenate([start[system.state.slice(n)] for n in ('q_WH', 'p_WH')])
        motors = EmulatedMotors(arm, self.motors, arm.joints_at(hand), seed=trial.seed)
        plant = object_on_arm(system, p, start, motors, slip_share=self.slip_share)
        plant.release()
        bridge = MotorBridge(Arm(self.chain), self.motors)
        law, source, view = self.laws[trial.law](), self.subject.source, plant.observe()
        seen = deque([view] * (DELAY + 1), maxlen=DELAY + 1)
        lost: list[str] = []
        tilts, used = [], []

        def motion() -> Generator[tuple[float, np.ndarray], np.ndarray, None]:
            for k in range(round(DURATION / STEP)):
                t, (joints, rates, _) = k * STEP, motors.values.reshape(3, -1)
                bridge.take_state(joints, rates, t)
                x, _ = source.state(seen[0].hand, seen[0].object_)
                u = yield t, x
                bridge.take_command(u, t)
                torque = np.asarray(bridge.step(t, STEP))
                motors.command('effort', torque, t)
                plant.step(None, STEP)
                seen.append(plant.observe())
                lost.extend(plant.events)
                q = x[system.state.slice('q_HO')]
                tilts.append(2 * np.arcsin(min(np.hypot(q[1], q[2]), 1.0)))
                shares = (motors.qd / self.chain.speed, torque / self.chain.torque)
                used.append([np.abs(s).max() for s in shares])
                if lost:
                    break

        answered(law, motion())
        speed, effort = np.max(used, axis=0)
        values = {
            'tilt': max(tilts[-round(LAST / STEP) :]),
            'speed': float(speed),
            'torque': float(effort),
            'clipped': bridge.clipped,
        }
        return Record(end=DURATION, ended=', '.join(lost), values=values)


def _other(chain: Chain, rng: np.random.Generator) -> Chain:
    """Return an arm whose links and plate have other masses, in proportion."""
    *fraction, plate = 1 + 0.05 * rng.uniform(-1, 1, len(chain.links) + 1)
    links = tuple(
        replace(link, body=_scaled(link.body, k))
        for link, k in zip(chain.links, fraction, strict=True)
    )
    return replace(chain, links=links, payload=_scaled(chain.payload, plate))


def _scaled(body: Body, fraction: float) -> Body:
    return replace(
        body, mass=fraction * body.mass, inertia=tuple(fraction * j for j in body.inertia)
    )


def rows() -> Iterator[Row]:
    """Yield how many of the trials end upright, and how much of the joints they use."""
    ends, count = tried(Trial(task=BalanceOnArm(), criterion=Balanced()), range(TRIALS))
    of = f'of {TRIALS}, {LEAN:g} rad off'
    speed, torque, tilt = (
        max(end.values[name] for end in ends) for name in ('speed', 'torque', 'tilt')
    )
    yield Row('balanced on a UR5e', count, reference=of, goal=f'at least {TRIALS}')
    for name, value in (
        ('greatest joint rate', speed),
        ('greatest joint torque', torque),
    ):
        yield Row(name, value, 'of its limit', reference=of, goal='at most 1')
    yield Row('greatest tilt at the end', tilt, 'rad', reference=of)
