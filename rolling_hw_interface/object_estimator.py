"""
Estimator of the object's present state: delayed images fused with the hand's encoders.

The filter stands at the time of the last image. When the next one arrives it is moved there along
the recorded motion of the hand, corrected, and its mean is carried on to the present. A filter
that estimates the inertia gets the hand's accelerations averaged over some steps: encoders show
them with much noise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_hw_interface.pose_filter import (
    at_rest,
    FilterModel,
    odometry_of,
    plausible,
    PoseFilter,
    touch_of,
)
from rolling_hw_interface.vision import ClockOffset
from transforms3d.quaternions import quat2mat

BEGIN, ENABLED, FORGET = 1, 2, 4  # flags: starts again, takes images, waits for an image first
HEAD = 5  # numbers before the stamps


@dataclass(frozen=True)
class Step:
    """
    One step.

    Attributes
    ----------
    now
        Its time [ns].
    flags
        Sum of ``BEGIN``, ``ENABLED``, ``FORGET``.
    commands, joints, images
        Stamps of the messages that it took [ns].

    """

    now: int
    flags: int
    commands: tuple[int, ...] = ()
    joints: tuple[int, ...] = ()
    images: tuple[int, ...] = ()

    @property
    def empty(self) -> bool:
        """True if it took nothing and changed nothing by itself."""
        taken = self.commands or self.joints or self.images
        return not taken and not self.flags & (BEGIN | FORGET)

    def numbers(self) -> list[int]:
        """Return it as a message of the log holds it."""
        kinds = (self.commands, self.joints, self.images)
        return [self.now, self.flags, *map(len, kinds), *(s for kind in kinds for s in kind)]


def steps_in(data: Iterable[int]) -> Iterator[Step]:
    """Yield the steps of a message; raise ParameterError if it is damaged."""
    numbers = list(data)
    while numbers:
        counts = numbers[2:HEAD]
        if len(counts) < 3 or min(counts) < 0 or len(numbers) < HEAD + sum(counts):
            raise ParameterError('the log of the steps is damaged')
        now, flags, at, kinds = numbers[0], numbers[1], HEAD, []
        for count in counts:
            kinds.append(tuple(numbers[at : at + count]))
            at += count
        yield Step(now, flags, *kinds)
        numbers = numbers[at:]


# Age of the last image up to which an estimate is reported [s]. With images hidden a tenth of the
# time, 20 ms in the mean, a trial of 7 s has a gap of 0.15 s once in a hundred times, one of 0.25
# s once in ten thousand. The error of an ellipse on its end grows fivefold meanwhile, by its time
# constant of 0.15 s: from 0.25 degrees to half of the tolerance of a flip-up.
VISION_TIMEOUT = 0.25
HISTORY = 0.3  # time for which the motion of the hand is remembered, with the latency [s]
REFUSALS = 12  # consecutive rejected images after which the estimate starts again
MAKING, BREAKING = 5e-4, 1.5e-3  # measured gap at which contact is made, and lost [m]
AHEAD = 2e-3  # of the last step, that an image may be [s]
AGREEING = 2  # consecutive images that have to agree
AROUND = 5  # steps before and after, over which the hand's acceleration is averaged


class Estimate(NamedTuple):
    """
    The object at one instant.

    Attributes
    ----------
    object_
        q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the object; shape (13,).
    x
        State of the contact system, of the object pushed onto the hand along the normal.
    contact
        ``object_prediction.CONTACT``: contact point, gap and slip, shape (6,).
    covariance
        Of contact point and gap, shape (3, 3); grows with the age of the last image.
    pose_covariance, twist_covariance
        Of place and of a turn about the world's axes, which grows alike, and of the object's
        velocity and angular velocity along its own axes; shape (6, 6).
    mode
        ``rolling``, ``slipping`` or ``separated``.
    age
        Time since the last image that was used was taken [s].

    """

    object_: Array
    x: Array
    contact: Array
    covariance: Array
    pose_covariance: Array
    twist_covariance: Array
    mode: str
    age: float


class _Step(NamedTuple):
    """The hand at a time, its accelerations, and whether the object is held from then on."""

    time: float
    hand: Array
    u: Array
    held: bool
    total: Array  # of the accelerations of all steps up to this one


class ObjectEstimator:
    """
    The estimator: :meth:`step` with the hand, :meth:`take_image` with images.

    Attributes
    ----------
    filter
        The filter, at the time of the last image.
    clock
        The camera's clock.
    taken, refused
        Numbers of images used and rejected.
    held
        Whether something holds the object still from now on.
    breaking
        Measured gap at which contact is lost [m].
    restarts
        Number of times that the estimate diverged and started again.
    reason
        Reason why the last image was rejected.

    """

    def __init__(
        self,
        system: ContactSystem,
        params: ArrayLike,
        *,
        least_latency: float = 6e-3,
        model: FilterModel | None = None,
        host_clock: bool = False,
    ) -> None:
        """
        Start without an estimate.

        Parameters
        ----------
        system, params
            Hand and object, in the representation ``attitude``, and their parameters.
        least_latency
            Minimum time from the middle of an exposure to the arrival [s].
        model
            Model of the filter.
        host_clock
            Whether images are stamped by the host's clock already.

        """
        self._system, self._params = system, np.asarray(params, dtype=float)
        self.filter = PoseFilter(system, params, model or FilterModel())
        self.clock = ClockOffset(least_latency)
        self._host_clock = host_clock
        self.held, self.breaking = False, BREAKING
        self._hands: deque[_Step] = deque()
        self._time: float | None = None
        self._now: tuple[Array, Array] | None = None
        self._doubts = self._votes = 0
        self._rolling = True
        self.taken = self.refused = self.restarts = 0
        self.reason = ''

    @property
    def inertia(self) -> float:
        """Moments of inertia of the object over those believed; 1 where they are not in doubt."""
        return self.filter.inertia

    @property
    def clock_offset(self) -> float:
        """Offset of the camera's clock from the host's [s]; positive if it is ahead."""
        return 0.0 if self._host_clock else self.clock.offset

    def ahead(self, stamp: float) -> float:
        """Return how long after the last step an image was taken, by the known clock [s]."""
        if not self._hands or not (self._host_clock or self.clock.settled):
            return -math.inf
        return stamp - self.clock_offset - self._hands[-1].time

    def forget(self) -> None:
        """Wait for an image to start again."""
        self._time, self._now = None, None
        self._doubts = self._votes = 0

    def step(self, hand: ArrayLike, u: ArrayLike, t: float) -> Estimate | None:
        """
        Advance to the present.

        Parameters
        ----------
        hand
            Pose and twist of the hand: q (w, x, y, z), p [m] in W, w [rad/s], v [m/s] in H.
        u
            Its accelerations, alpha_WH_H [rad/s^2] and a_WH_H [m/s^2].
        t
            Time, later than at the last call [s].

        Returns
        -------
        Estimate or None
            None before the first image of an object.

        """
        if self._hands and self._now is not None:
            before = self._hands[-1]
            self._now = body, _ = self._carried(*self._now, before, before.time, t)
            if not plausible(body):
                self._astray('no object moves like this')
        hand, u = np.array(hand, dtype=float), np.array(u, dtype=float)
        total = u + self._hands[-1].total if self._hands else u
        self._hands.append(_Step(t, hand, u, self.held, total))
        if self.filter.model.inertia > 0:
            self._smooth()
        while self._hands[0].time < t - HISTORY:
            self._hands.popleft()
        if self._now is None or self._time is None:
            return None
        return self._estimate(hand, u, t)

    def take_image(
        self, stamp: float, arrival: float, p_WO: ArrayLike, q_WO: ArrayLike, covariance: ArrayLike
    ) -> bool:
        """
        Take the pose that an image shows.

        Parameters
        ----------
        stamp, arrival
            Middle of the exposure by the camera's clock, and arrival by the host's [s].
        p_WO, q_WO
            Place [m] and attitude (w, x, y, z) of the object in the world.
        covariance
            Of place [m^2] and of a turn about the world's axes [rad^2], shape (6, 6).

        Returns
        -------
        bool
            Whether it was used.

        """
        objection = self._objection(stamp, arrival)
        if objection:
            return self._refuse(objection)
        t = stamp - self.clock_offset
        pose = np.asarray(p_WO, dtype=float), np.asarray(q_WO, dtype=float)
        if self._time is None:
            return self._start(t, *pose)
        self._advance(t)
        return self._correct(t, *pose, np.asarray(covariance, dtype=float))

    def _objection(self, stamp: float, arrival: float) -> str:
        """Return why an image of this stamp cannot be used, or nothing."""
        if not self._host_clock:
            starts = self.clock.restarts
            if not self.clock.take(stamp, arrival):
                return 'its stamp belongs to another clock'
            if self.clock.restarts > starts:
                self.forget()
            if not self.clock.settled:
                return 'the clock is not known yet'
        if not self._hands:
            return 'the hand is not known yet'
        t, newest = stamp - self.clock_offset, self._hands[-1].time
        if not self._hands[0].time <= t <= newest + AHEAD:
            return f'it was taken {newest - t:.3f} s before the last step'
        if self._time is not None and t <= self._time:
            return 'it is not later than the last one'
        return ''

    def _start(self, t: float, p: Array, q: Array) -> bool:
        hand = self._step_at(t).hand
        try:
            touch = touch_of(self._system, self._params, hand, p, q)
        except RollingError as error:
            return self._refuse(str(error))
        self.filter.start(p, q, touch.contact_h, touching=touch.gap < self.breaking)
        self._time = t
        self._follow()
        self.taken += 1
        return True

    def _step_at(self, t: float) -> _Step:
        """Return the last step before a time."""
        return next((step for step in reversed(self._hands) if step.time <= t), self._hands[0])

    def _carried(
        self, body: Array, near: Array, step: _Step, t: float, end: float
    ) -> tuple[Array, Array]:
        """Return object and contact point at a later time, from a time after a step on."""
        if step.held:
            return at_rest(body), near
        return self.filter.mean_after(body, near, step.hand, step.u, t - step.time, end - t)

    def _smooth(self) -> None:
        """Average the accelerations of the last steps over as many before as came after each."""
        last = len(self._hands) - 1
        for k in range(max(last - AROUND, AROUND + 1), last):
            before = 2 * k - last - 1
            mean = (self._hands[last].total - self._hands[before].total) / (last - before)
            self._hands[k] = self._hands[k]._replace(u=mean)

    def _times(self, after: float, before: float) -> list[float]:
        """Return the times of the steps between two times, newest last."""
        out: list[float] = []
        for step in reversed(self._hands):
            if step.time <= after:
                break
            if step.time < before:
                out.append(step.time)
        return out[::-1]

    def _advance(self, t: float) -> None:
        """Move the filter to a time along the motion of the hand."""
        assert self._time is not None  # noqa: S101 - of the type checker
        at, learns = self._time, self.filter.model.inertia > 0
        if not learns:
            self.filter.spread(t - at)
        for end in [*self._times(at, t), t]:
            step = self._step_at(at)
            if learns and not step.held:
                self.filter.advance(step.hand, step.u, at - step.time, end - at)
            else:
                if learns:
                    self.filter.spread(end - at)
                now = self.filter.body, self.filter.near
                self.filter.body, self.filter.near = self._carried(*now, step, at, end)
            at = end
        self._time = t

    def _correct(self, t: float, p: Array, q: Array, covariance: Array) -> bool:
        _, hand, u, held, _ = step = self._step_at(t)
        lead = t - step.time
        self._watch_contact(p, q, hand, u, lead)
        accepted, distance = self.filter.take_pose(p, q, covariance)
        if held:
            self.filter.take_rest()
        if self.filter.touching:
            self._rolling = self.filter.take_contact(hand, u, lead)
        if self.filter.model.planar:
            self.filter.take_plane()
        if not self.filter.sound():
            return self._start_again(t, p, q, 'no object moves like this')
        self._move_clock()
        self._follow()
        if accepted:
            self._doubts = 0
            self.taken += 1
            return True
        self._doubts += 1
        if self._doubts >= REFUSALS:
            return self._start_again(t, p, q, f'{REFUSALS} images in a row did not fit')
        return self._refuse(f'it lies {math.sqrt(distance):.1f} standard deviations off')

    def _start_again(self, t: float, p: Array, q: Array, why: str) -> bool:
        """Give the estimate up for the pose of an image."""
        self._astray(why)
        self._start(t, p, q)
        return False

    def _astray(self, why: str) -> None:
        self.forget()
        self.clock.correction = self.filter.clock_error = 0.0  # it went the same way
        self.restarts += 1
        self._refuse(f'the estimate had gone astray and starts again: {why}')

    def _watch_contact(self, p: Array, q: Array, hand: Array, u: Array, lead: float) -> None:
        """Find out from the measured pose whether the bodies touch."""
        body = self.filter.body.copy()
        body[:4], body[4:7] = q, p
        gap = float(self.filter.contact(body, self.filter.near, hand, u, lead)[0][2])
        touching = self.filter.touching
        other = gap > self.breaking if touching else gap < MAKING
        self._votes = self._votes + 1 if other else 0
        if self._votes >= AGREEING:
            self.filter.change_contact(touching=not touching)
            self._votes = 0

    def _move_clock(self) -> None:
        """Hand the filter's correction of the dates over to the clock."""
        if not self._host_clock:
            self.clock.correct(self.filter.clock_error)
        self.filter.clock_error = 0.0

    def _follow(self) -> None:
        """Carry the mean from the last image to the last step."""
        assert self._time is not None  # noqa: S101 - of the type checker
        body, near, at = self.filter.body, self.filter.near, self._time
        for end in self._times(at, math.inf):
            body, near = self._carried(body, near, self._step_at(at), at, end)
            at = end
        self._now = (body.copy(), near.copy())

    def _estimate(self, hand: Array, u: Array, t: float) -> Estimate:
        assert self._now is not None  # noqa: S101 - of the type checker
        assert self._time is not None  # noqa: S101
        contact, J, x = self.filter.contact(*self._now, hand, u, 0.0)
        age = t - self._time
        C = self.filter.covariance
        ahead = C[:6, :6] + age**2 * C[6:12, 6:12] + age * (C[:6, 6:12] + C[6:12, :6])
        if not self.filter.touching:
            mode = 'separated'
        else:
            mode = 'rolling' if self._rolling else 'slipping'
        spread = J[:3, :6] @ ahead @ J[:3, :6].T
        turned = np.kron(np.eye(2), quat2mat(self._now[0][:4]))
        twist = turned.T @ C[6:12, 6:12] @ turned
        return Estimate(odometry_of(self._now[0]), x, contact, spread, ahead, twist, mode, age)

    def _refuse(self, reason: str) -> bool:
        self.refused += 1
        self.reason = reason
        return False
