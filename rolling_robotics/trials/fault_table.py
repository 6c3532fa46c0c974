"""
Consequences of every injected fault: its report, the time until the hand rests, its distance.

The hand swings under commands and carries the object when the fault comes. Nothing has moved
uncommanded if the hand never went faster than it had just been commanded to, and rests.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_hw_interface.emulated_motors import inject
from rolling_planner.laboratory.laboratory import FLAT, Laboratory
from rolling_robotics.trials.chain import HardwareInterface, Imperfections, PERIOD

SWING, FREQUENCY = 1.5, 2.0  # of the commanded acceleration along x [m/s^2], [Hz]
STILL, BEFORE, AFTER = 0.4, 0.6, 0.9  # s at rest, of swinging, and watched after the fault
RESTING = 0.02  # m/s: a hand that is slower rests


class Fault(NamedTuple):
    """
    A fault and how it is brought about.

    Attributes
    ----------
    name
        What fails.
    inject
        Brings it about in the laboratory.
    report
        What the system has to say of it, in part; empty if nothing need be said.
    stops
        Whether the hand has to come to rest; else the fault has to be borne.
    faster
        Greatest speed of the hand after it over that before: it sinks until a motor that gives
        no torque is found out.

    """

    name: str
    inject: Callable[[HardwareInterface], None]
    report: str
    stops: bool = True
    faster: float = 1.15


class FaultRow(NamedTuple):
    """
    Consequences of a fault.

    Attributes
    ----------
    name
        What failed.
    reaction
        Report of the system.
    noticed, rest
        Time until it reacted, and until the hand rested for good [s]; infinite if it never did.
    speed_before, speed_after
        Greatest speed of the hand in the swing before, and after the fault [m/s].
    way
        Greatest distance of the hand from where the fault found it [m].
    drift
        Speed of the hand in the end [m/s].
    object_kept
        Whether the object is on the plate still.

    """

    name: str
    reaction: str
    noticed: float
    rest: float
    speed_before: float
    speed_after: float
    way: float
    drift: float
    object_kept: bool


def _motor(kind: str, joint: int = 0) -> Callable[[HardwareInterface], None]:
    return lambda chain: inject(chain.machine, kind, joint)


def _camera(fault: str) -> Callable[[HardwareInterface], None]:
    return lambda chain: chain.machine.emulation.streams['camera'].inject(fault)


def _kill(part: str) -> Callable[[HardwareInterface], None]:
    return lambda chain: chain.killed.add(part)


SILENT, DROPPED = 'the command is', 'messages_dropped'
FAULTS = (
    Fault('nothing', lambda _: None, '', stops=False),
    *(
        Fault(
            f'{what} of joint {k + 1} {how}', _motor(kind, k), report.format(k + 1), True, faster
        )
        for what, how, kind, report, faster in (
            ('encoder', 'lost', 'encoder_lost', 'joint {} gives no angle', 1.15),
            ('encoder', 'frozen', 'encoder_frozen', 'joint {} does not turn', 1.15),
            ('motor', 'stuck', 'motor_stuck', 'joint {} does not turn', 1.15),
            ('motor', 'without torque', 'motor_off', 'joint', 1.8),
        )
        for k in range(3)
    ),
    Fault('no joint states', _motor('silent'), 'the joint states are'),
    Fault('half the messages of the motors lost', _motor(DROPPED), '', stops=False),
    Fault('camera frozen', _camera('frozen'), SILENT),
    Fault('camera off', _camera('off'), SILENT),
    Fault('all markers hidden', _camera('hidden'), SILENT),
    Fault('half the images lost', _camera(DROPPED), '', stops=False),
    Fault("camera's clock starts again", _camera('clock_jump'), '', stops=False),
    Fault('controller killed', _kill('controller'), SILENT),
    Fault('estimator killed', _kill('estimator'), SILENT),
    Fault('motor bridge killed', _kill('bridge'), 'amplifiers: braking'),
)


def inject_fault(fault: Fault) -> FaultRow:
    """Return the result of a fault, one of ``FAULTS``, in a laboratory of random seed 0."""
    laboratory, imperfections = Laboratory.of_paper(), Imperfections(shift=0.0, turn=0.0)
    chain = HardwareInterface(laboratory, laboratory.rest(FLAT), imperfections, seed=0)
    _swing(chain, STILL, still=True)
    chain.machine.release()
    before = _swing(chain, BEFORE)
    chain.bridge.reason = chain.vision.refused = ''
    at, found = chain.time, chain.view.hand[[4, 6]]
    fault.inject(chain)
    after = _swing(chain, AFTER)
    reacted = next((k for k, tick in enumerate(after) if tick.reaction), None)
    moving = [k for k, tick in enumerate(after) if tick.speed > RESTING]
    rests = moving[-1] + 1 if moving else 0
    return FaultRow(
        name=fault.name,
        reaction=after[reacted].reaction if reacted is not None else '',
        noticed=math.inf if reacted is None else (reacted + 1) * PERIOD,
        rest=rests * PERIOD if rests < len(after) else math.inf,
        speed_before=max(tick.speed for tick in before if tick.time > at - 1 / FREQUENCY),
        speed_after=max(tick.speed for tick in after),
        way=max(math.dist(tick.place, found) for tick in after),
        drift=after[-1].speed,
        object_kept=not chain.machine.fault and chain.machine.contact_mode != 'separated',
    )


class _Tick(NamedTuple):
    time: float
    speed: float
    place: Array
    reaction: str


def _swing(chain: HardwareInterface, duration: float, *, still: bool = False) -> list[_Tick]:
    """Let the controller swing the hand, or keep it still, as long as it knows the object."""
    out = []
    for _ in range(round(duration / PERIOD)):
        known = chain.sense() is not None
        angle = 2 * math.pi * FREQUENCY * chain.time
        control = (0.0, 0.0 if still else SWING * math.cos(angle), 0.0)
        hand = chain.act(control if known else None).hand
        out.append(
            _Tick(chain.time, float(np.hypot(*hand[[10, 12]])), hand[[4, 6]], _report(chain))
        )
    return out


def _report(chain: HardwareInterface) -> str:
    """Return what the system reports that is not as usual."""
    if chain.bridge.phase in {'stopping', 'stopped'} or chain.bridge.reason:
        return f'bridge: {chain.bridge.reason}'
    if chain.motors.braking:
        return 'amplifiers: braking, no commands'
    return ''
