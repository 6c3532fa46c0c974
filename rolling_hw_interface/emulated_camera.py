"""
A camera that sees reflective markers on the object, with its imperfections, in lockstep.

An image shows the mean of the markers' places while the shutter is open. It arrives later than it
was taken, and carries the time of a clock of its own.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.faults import CAMERA_FAULTS, checked_fault

MARKERS = (
    (-0.0146, -0.0060, -0.0238),
    (0.0041, -0.0053, 0.0306),
    (-0.0004, -0.0089, 0.0193),
    (-0.0179, -0.0115, 0.0043),
    (0.0025, -0.0097, -0.0302),
)  # of an ellipse with semi-axes of 25.2 (x) and 37.7 mm (z), on the side seen by the camera [m]


@dataclass(frozen=True, kw_only=True)
class CameraModel:
    """
    Imperfections of a camera with marker tracking.

    Attributes
    ----------
    rate
        Images a second [Hz].
    exposure
        Time for which the shutter is open [s].
    latency, jitter
        From the middle of the exposure to the arrival of the data, and half the width of its even
        spread [s].
    noise
        Standard deviation of each coordinate of a marker [m].
    occlusion, occlusion_time
        Share of the time in which the object is hidden, and mean length of such a time [s].
    marker_occlusion
        Probability that a single marker is hidden in an image.
    swap
        Probability that two labels are exchanged in an image.
    reflection, reflection_distance
        Probability that a reflection is mistaken for a marker, and how far off it is [m].
    clock_offset, clock_spread
        The camera's clock is ahead of the host's by this plus, at each start, an even draw from
        -spread to spread [s].
    clock_drift
        Seconds that it gains in a second.

    """

    rate: float = 250.0
    exposure: float = 1e-3
    latency: float = 8e-3
    jitter: float = 2e-3
    noise: float = 2e-4
    occlusion: float = 0.1
    occlusion_time: float = 0.02
    marker_occlusion: float = 0.01
    swap: float = 0.01
    reflection: float = 0.005
    reflection_distance: float = 0.05
    clock_offset: float = 0.0
    clock_spread: float = 0.5
    clock_drift: float = 1e-5

    def __post_init__(self) -> None:
        """Refuse numbers that no camera has."""
        signed = ('clock_offset', 'clock_drift')
        shares = ('occlusion', 'marker_occlusion', 'swap', 'reflection')
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not math.isfinite(value) or (name not in signed and value < 0):
                raise ParameterError(f'camera: {name} must be zero or positive, got {value!r}')
            if name in shares and not value < 1:
                raise ParameterError(f'camera: {name} must be less than 1, got {value!r}')
        if not 0 < self.rate <= 2000:
            raise ParameterError(
                f'camera: rate must lie above 0 and up to 2000 Hz, got {self.rate}'
            )
        if self.exposure * self.rate > 1 or self.jitter + self.exposure / 2 > self.latency:
            raise ParameterError(
                'camera: exposure must be shorter than a period, and jitter and half the exposure '
                f'shorter than the latency; got {self.exposure}, {self.jitter}, {self.latency} s'
            )


class Image(NamedTuple):
    """
    What one image tells.

    Attributes
    ----------
    stamp
        Middle of the exposure, by the camera's clock [s].
    arrival
        Time at which it reaches the host [s].
    markers_C
        Places in the camera's frame in the order of the pattern [m], shape (k, 3); not numbers
        where a marker is not seen.

    """

    stamp: float
    arrival: float
    markers_C: NDArray[np.float64]


class EmulatedCamera:
    """
    The camera; :meth:`step` is told where the object is and returns the images that arrive.

    Attributes
    ----------
    offset
        What the camera's clock is ahead of the host's at time 0 [s].
    fault
        The fault at work.

    """

    def __init__(
        self,
        model: CameraModel,
        X_WC: ArrayLike,
        markers_O: ArrayLike = MARKERS,
        *,
        seed: int = 0,
    ) -> None:
        """
        Switch it on.

        Parameters
        ----------
        model
            Its imperfections.
        X_WC
            Pose of the camera in the world, shape (4, 4).
        markers_O
            Places of the markers on the object [m], shape (k, 3).
        seed
            Of everything random.

        """
        self.model = model
        self._X_CW = np.linalg.inv(np.asarray(X_WC, dtype=float))
        self._markers = np.array(markers_O, dtype=float)
        self._rng = np.random.default_rng(seed)
        self._seen: deque[tuple[float, NDArray[np.float64]]] = deque(maxlen=64)
        self._on_the_way: deque[Image] = deque()
        self._next: float | None = None
        self._hidden = False
        self._frozen: NDArray[np.float64] | None = None
        self.fault = 'none'
        self.offset = 0.0
        self.restart()

    def restart(self) -> None:
        """Start the camera's clock anew."""
        m = self.model
        self.offset = m.clock_offset + m.clock_spread * float(self._rng.uniform(-1.0, 1.0))

    def inject(self, kind: str) -> None:
        """Start a fault, or end it with ``none``."""
        self.fault = checked_fault(kind, CAMERA_FAULTS)
        self._frozen = None
        if kind == 'clock_jump':
            self.restart()

    def clock(self, t: float) -> float:
        """Return what the camera's clock shows at time t of the host [s]."""
        return t * (1.0 + self.model.clock_drift) + self.offset

    def step(self, X_WO: ArrayLike, t: float) -> list[Image]:
        """
        See the object and return what has arrived.

        Parameters
        ----------
        X_WO
            Pose of the object in the world at time t, shape (4, 4).
        t
            Time [s], later than at the last call; calls have to come at least as often as images.

        Returns
        -------
        list of Image
            In the order of arrival.

        """
        X = self._X_CW @ np.asarray(X_WO, dtype=float)
        self._seen.append((t, self._markers @ X[:3, :3].T + X[:3, 3]))
        m = self.model
        if self._next is None:
            self._next = t + float(self._rng.uniform(0.0, 1.0)) / m.rate
        while self._next + m.exposure <= t:
            self._take(self._next)
            self._next += 1.0 / m.rate
        out = []
        while self._on_the_way and self._on_the_way[0].arrival <= t:
            out.append(self._on_the_way.popleft())
        return out

    def _take(self, start: float) -> None:
        """Take one image with the shutter open from this time on."""
        m, rng = self.model, self._rng
        middle = start + m.exposure / 2
        draws = rng.uniform(size=6)
        noise = rng.normal(scale=m.noise, size=self._markers.shape)
        hidden_markers = rng.uniform(size=len(self._markers)) < m.marker_occlusion
        frames = max(m.occlusion_time * m.rate, 1.0)  # mean length of a time without sight
        if self._hidden:
            self._hidden = bool(draws[0] >= 1 / frames)
        else:  # so often that the share of the time comes out
            self._hidden = bool(draws[0] < m.occlusion / (1 - m.occlusion) / frames)
        arrival = middle + m.latency + m.jitter * (2 * draws[2] - 1)
        if self._on_the_way:
            arrival = max(arrival, self._on_the_way[-1].arrival)
        seen = self._exposed(start) + noise
        if draws[3] < m.swap:
            i, j = rng.choice(len(seen), 2, replace=False)
            seen[[i, j]] = seen[[j, i]]
        if draws[4] < m.reflection:
            away = rng.normal(size=3)
            seen[rng.integers(len(seen))] += m.reflection_distance * away / np.linalg.norm(away)
        seen[hidden_markers] = math.nan
        if self._hidden or self.fault == 'markers_hidden':
            seen[:] = math.nan
        if self.fault == 'camera_frozen':
            self._frozen = seen if self._frozen is None else self._frozen
            seen = self._frozen.copy()
        lost = self.fault == 'messages_dropped' and draws[5] < 0.5
        if self.fault != 'camera_off' and not lost:
            self._on_the_way.append(Image(self.clock(middle), arrival, seen))

    def _exposed(self, start: float) -> NDArray[np.float64]:
        """Return the mean places of the markers while the shutter was open, by Simpson's rule."""
        half = self.model.exposure / 2
        one, two, three = (self._at(start + k * half) for k in range(3))
        return (one + 4 * two + three) / 6

    def _at(self, t: float) -> NDArray[np.float64]:
        later = next((k for k, (s, _) in enumerate(self._seen) if s >= t), len(self._seen) - 1)
        (t0, a), (t1, b) = self._seen[max(later - 1, 0)], self._seen[later]
        share = 1.0 if t1 <= t0 else min(max((t - t0) / (t1 - t0), 0.0), 1.0)
        return a + share * (b - a)
