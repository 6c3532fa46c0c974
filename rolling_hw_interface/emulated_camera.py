"""A camera that sees reflective markers on the object, with its imperfections, as a sensor."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.contract.instruments import MotionExpressions, Sensor, SensorClock
from rolling_dynamics.contract.rolling_system import Layout, vector_entry
from rolling_dynamics.errors import check_positive, ParameterError

MARKERS = (
    (-0.0146, -0.0060, -0.0238),
    (0.0041, -0.0053, 0.0306),
    (-0.0004, -0.0089, 0.0193),
    (-0.0179, -0.0115, 0.0043),
    (0.0025, -0.0097, -0.0302),
)  # of an ellipse with semi-axes of 25.2 (x) and 37.7 mm (z), on the visible side [m]


@dataclass(frozen=True, kw_only=True)
class CameraModel:
    """
    Imperfections of a camera with marker tracking.

    Attributes
    ----------
    rate
        Frame rate [Hz].
    exposure
        Exposure time [s].
    latency
        Latency from mid-exposure to arrival [s].
    jitter
        Half-width of the uniform distribution of the latency [s].
    noise
        Standard deviation of each coordinate of a marker [m].
    occlusion
        Fraction of time for which the object is hidden.
    occlusion_time
        Mean duration of an occlusion [s].
    marker_occlusion
        Probability that one marker is hidden in an image.
    swap
        Probability of two swapped labels in an image.
    reflection
        Probability that a reflection is mistaken for a marker in an image.
    reflection_distance
        Distance of a reflection from the marker [m].
    clock_offset
        Offset of the camera clock ahead of the host clock [s].
    clock_spread
        Half-width of a uniform random offset added at each start [s].
    clock_drift
        Drift of the camera clock (seconds per second).

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
        """Reject impossible values."""
        signed = ('clock_offset', 'clock_drift')
        fractions = ('occlusion', 'marker_occlusion', 'swap', 'reflection')
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            check_positive(f'camera: {name}', abs(value) if name in signed else value, zero=True)
            if name in fractions and not value < 1:
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


def camera_sensor(
    model: CameraModel, X_WC: ArrayLike, markers_O: ArrayLike = MARKERS, *, frame: str = 'camera'
) -> Sensor:
    """
    Return the sensor that measures the markers of the object, in the frame of the camera.

    Parameters
    ----------
    model
        Imperfections of the camera.
    X_WC
        Pose of the camera in the world, shape (4, 4).
    markers_O
        Positions of the markers on the object [m], shape (k, 3).
    frame
        Frame of its messages.

    """
    X_CW, markers = np.linalg.inv(np.asarray(X_WC, dtype=float)), np.array(markers_O, dtype=float)

    def measure(at: MotionExpressions) -> ca.SX:
        X_CO = ca.mtimes(ca.DM(X_CW), at.body('object'))
        return ca.vec(X_CO[:3, :3] @ ca.DM(markers.T) + X_CO[:3, 3])

    half = model.exposure / 2  # an image is stamped in the middle of its exposure
    return Sensor(
        name='camera',
        output=Layout(
            tuple(vector_entry(f'marker_{k + 1}', 'm', 'C') for k in range(len(markers)))
        ),
        measure=measure,
        covariance=model.noise**2 * np.eye(markers.size),
        rate=model.rate,
        exposure=model.exposure,
        delay=model.latency - half,
        jitter=model.jitter,
        loss=model.occlusion,
        blackout=max(model.occlusion_time, 1 / model.rate),
        hidden=model.marker_occlusion,
        swap=model.swap,
        outlier=model.reflection,
        outlier_size=model.reflection_distance,
        clock=SensorClock(
            offset=model.clock_offset - half * (1 + model.clock_drift),
            spread=model.clock_spread,
            drift=model.clock_drift,
        ),
        free_running=True,
        message='points',
        topic='camera/markers',
        frame=frame,
    )
