"""
Balance in space with the plate on a UR5e: full gravity, and the limits of its joints.

An ellipsoid on its end starts 0.1 rad off, each time to another side. The regulator sees states
8 ms old. Torques follow from the equations of the arm; links and plate are up to 5 % heavier or
lighter than believed, the object's inertia 10 %.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from benchmarks.row import Row
import numpy as np
from rolling_controller.balance.spatial_laws import spatial_regulator
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.layouts import GRAVITY
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.hybrid_contact import HybridPlant
from rolling_dynamics.hybrid_contact.model_state import model_state, plant_state
from rolling_dynamics.hybrid_contact.plant_view import plant_views, VIEW
from rolling_dynamics.hybrid_contact.spatial_body import SpatialBody
from rolling_hw_interface.spatial_arm import SpatialArm, SpatialArmModel
from rolling_hw_interface.spatial_drive import SpatialDrive
from transforms3d.quaternions import quat2mat

TRIALS = 20
LEAN, UPRIGHT = 0.1, 0.02  # rad: at the start, and what counts as upright
DURATION, LAST = 4.0, 0.5  # s, of a trial and of its end that is judged
DELAY = 8  # ms
STEP = 1e-3  # s
POINT, TORQUE, FORCE = (VIEW.slice(name) for name in ('p_HC_H', 'torque_H', 'force_H'))
Array = np.ndarray


class End(NamedTuple):
    """
    How a trial went.

    Attributes
    ----------
    tilt
        Greatest tilt at its end [rad].
    lost
        What happened to the contact; empty if it held.
    speed, torque
        Greatest rate and torque of a joint, as shares of its limit.
    clipped
        Steps in which a limit changed a command.

    """

    tilt: float
    lost: tuple[str, ...]
    speed: float
    torque: float
    clipped: int


class BalanceOnArm:
    """The regulator and the arm it believes in."""

    def __init__(self) -> None:
        """Design the regulator at full gravity."""
        self.body = SpatialBody(gravity=GRAVITY)
        self.law, self.arm = spatial_regulator(self.body), SpatialArm()

    def trial(self, seed: int, *, feedback: bool = True) -> End:
        """Return how a trial goes."""
        rng, body, arm = np.random.default_rng(seed), self.body, self.arm
        drive = SpatialDrive(arm, SpatialArm(_other(arm.model, rng)))
        (system, p), (model, _) = body.plant(), body.model()
        p = p.copy()
        p[system.parameters.slice('inertia')] *= 1 + 0.1 * rng.uniform(-1, 1)
        side, half = rng.uniform(0, 2 * np.pi), LEAN / 2
        lean = [np.cos(half), np.sin(half) * np.cos(side), np.sin(half) * np.sin(side), 0]
        x = plant_state(system, p, model, body.rest(model, q_HO=lean))
        plant, to_model = HybridPlant(system, p, x), FastFunction(model_state(system, model))
        views, hand = plant_views(system), _hand_parts(system.state)
        seen = deque([x] * (DELAY + 1), maxlen=DELAY + 1)
        moved, lost, tilts, used = np.zeros(6), [], [], []
        limit = {name: arm.model.limit(name) for name in ('speed', 'torque')}
        for _ in range(round(DURATION / STEP)):
            u = self.law.command(to_model(seen[0], p)) if feedback else np.zeros(6)
            state = plant.state
            wrench = _on_hand(views[state.mode](state.x, moved, state.p))
            moved = drive.step(u, wrench, STEP)
            state = plant.step(moved, STEP)
            lost += [event.name for event in state.events]
            x = state.x.copy()
            x[hand] = drive.hand_state()
            plant.state = replace(state, x=x)
            seen.append(x)
            q = x[system.state.slice('q_HO')]
            tilts.append(2 * np.arcsin(min(np.hypot(q[1], q[2]), 1.0)))
            shares = (drive.qd / limit['speed'], drive.torque / limit['torque'])
            used.append([np.abs(s).max() for s in shares])
            if lost:
                break
        speed, torque = np.max(used, axis=0)
        return End(
            tilt=max(tilts[-round(LAST / STEP) :]),
            lost=tuple(lost),
            speed=float(speed),
            torque=float(torque),
            clipped=drive.clipped,
        )


def _hand_parts(state: Layout) -> Array:
    names = ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')
    return np.concatenate([np.arange(s.start, s.stop) for s in map(state.slice, names)])


def _on_hand(view: Array) -> Array:
    """Return force and torque on the hand about its origin, in W."""
    R = quat2mat(view[VIEW.slice('q_WH')])
    force, torque = -view[FORCE], -view[TORQUE]
    return np.concatenate([R @ force, R @ (torque + np.cross(view[POINT], force))])


def _other(model: SpatialArmModel, rng: np.random.Generator) -> SpatialArmModel:
    """Return an arm whose links and plate have other masses, in proportion."""
    share = 1 + 0.05 * rng.uniform(-1, 1, len(model.links) + 1)
    links = tuple(
        replace(link, mass=k * link.mass, inertia=tuple(k * j for j in link.inertia))
        for link, k in zip(model.links, share, strict=False)
    )
    return replace(model, links=links, payload=tuple(share[-1] * v for v in model.payload))


def arrived(end: End) -> bool:
    """Tell whether the ellipsoid stands, the contact held and no limit was met."""
    within = end.speed < 1 and end.torque < 1 and not end.clipped
    return not end.lost and end.tilt < UPRIGHT and within


def rows() -> Iterator[Row]:
    """Yield how many of the trials end upright, and how much of the joints they use."""
    balance = BalanceOnArm()
    ends = [balance.trial(seed) for seed in range(TRIALS)]
    of = f'of {TRIALS}, {LEAN:g} rad off'
    count = sum(map(arrived, ends))
    yield Row(
        name='balanced on a UR5e', value=count, unit='', reference=of, goal=f'at least {TRIALS}'
    )
    for name, value in (
        ('greatest joint rate', max(e.speed for e in ends)),
        ('greatest joint torque', max(e.torque for e in ends)),
    ):
        yield Row(name=name, value=value, unit='of its limit', reference=of, goal='at most 1')
    yield Row(
        name='greatest tilt at the end', value=max(e.tilt for e in ends), unit='rad', reference=of
    )
