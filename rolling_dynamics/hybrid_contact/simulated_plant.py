"""
The hybrid plant behind a simulator node: steps, brakes the hand, tells what can be seen; no ROS.

After a reset the object is held on the plate until :meth:`release`, as a clamp would hold it, so
that every run begins at its start however late the first command comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.event import Event
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, placed_state
from rolling_dynamics.hybrid_contact.plant import HybridPlant
from rolling_dynamics.hybrid_contact.plant_view import plant_views, VIEW

IN_PLANE = [1, 3, 5]  # alpha_y, a_x, a_z of the six accelerations of a hand


class SimulatedHybridPlant:
    """
    An object on a plate that is stepped in real time. Not for use from two threads at once.

    Attributes
    ----------
    time
        Since the last reset [s].
    fault
        Why nothing moves any more; empty while it does.
    held
        Whether the object is clamped to the plate.
    events
        What happened to the contact since they were last taken.

    """

    def __init__(
        self,
        model: ContactSystem,
        params: ArrayLike,
        start: ArrayLike,
        *,
        planar: bool,
        slip_share: float = 0.8,
        resistance: float = 0.0,
        brake_time: float = 0.1,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Put the object at its start.

        Parameters
        ----------
        model, params, planar, slip_share, resistance
            See :func:`hybrid_of`.
        start
            State of the contact system.
        brake_time
            Time constant with which an uncommanded hand comes to rest [s].
        limits
            Greatest magnitude of each of the six accelerations; None for no limit.

        """
        self._model, self._start = model, np.array(start, dtype=float)
        self._system, self._nominal = hybrid_of(
            model, params, planar=planar, slip_share=slip_share, resistance=resistance
        )
        self._limits = np.full(6, np.inf) if limits is None else np.asarray(limits, dtype=float)
        self._brake_time = brake_time
        self._views = plant_views(self._system)
        # by which parameters are off, from the next reset on
        self.factors = {'inertia': 1.0, 'rolling_resistance': 1.0}
        self._system.get_ready()  # a plant in real time must not stand still when it lands
        self.reset()

    # -- placing ----------------------------------------------------------------------------

    def reset(
        self, *, position: Sequence[float] = (0, 0), rotation: Sequence[float] = (0, 0, 0)
    ) -> None:
        """
        Go back to the start, or near it, with the parameters times ``factors``.

        Parameters
        ----------
        position
            Shift of the contact point along x and y of the plate [m].
        rotation
            Turn of the object about its own axes [rad]; of a planar plant about y.

        Raises
        ------
        SimulationError
            The object does not rest there.

        """
        layout, d = self._model.tangent, np.zeros(self._model.tangent.size)
        d[layout.slice('contact_h')], d[layout.slice('d_HO')] = position, rotation
        if self._system.planar and (position[1] or rotation[0] or rotation[2]):
            raise SimulationError('a plant in the plane moves along x and turns about y only')
        x = np.array(self._model.retract(self._start, d)).ravel()
        p = self._nominal.copy()
        for name, factor in self.factors.items():
            p[self._system.parameters.slice(name)] *= factor
        try:
            plant = HybridPlant(self._system, p, placed_state(self._system, p, self._model, x))
        except ParameterError as error:
            raise SimulationError(f'no contact at this start: {error}') from None
        self._plant = plant
        self._u = np.zeros(self._system.control.size)
        self.time, self.fault, self.held = 0.0, '', True
        self.events: list[Event] = []
        self._seen = self._look()

    def release(self) -> None:
        """Let the object go."""
        self.held = False

    # -- stepping ---------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """Mode of the contact as published."""
        return self._plant.state.published_mode

    def brake(self) -> Array:
        """Return the control that brings the hand to rest: alpha_WH_H, a_WH_H; 6 numbers."""
        rates = np.concatenate([self._part('w_WH_H'), self._part('v_WH_H')])
        return self._clipped(-rates / self._brake_time)

    def step(self, u: ArrayLike, dt: float) -> None:
        """
        Advance by dt [s] under constant accelerations of the hand.

        Parameters
        ----------
        u
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers.
        dt
            Time [s], positive.

        """
        u = np.asarray(u, dtype=float)
        if u.shape != (6,) or not np.isfinite(u.sum()):
            raise ParameterError(f'a control takes 6 finite numbers, got {u!r}')
        self.time += dt
        if self.fault or self.held:
            return
        u = self._clipped(u)
        self._u = u[IN_PLANE] if self._system.planar else u
        try:
            state = self._plant.step(self._u, dt)
        except SimulationError as error:
            self.fault = str(error)
            return
        self.events += state.events
        if state.ended is not None:
            self.fault = state.ended.text
        self._seen = self._look()

    def _clipped(self, u: Array) -> Array:
        return np.asarray(np.minimum(np.maximum(u, -self._limits), self._limits))

    # -- looking ----------------------------------------------------------------------------

    def view(self) -> Array:
        """Return what can be seen now, entries, shape and units as of the layout ``VIEW``."""
        return self._seen

    def _part(self, name: str) -> Array:
        return self._seen[VIEW.slice(name)]

    def _look(self) -> Array:
        state = self._plant.state
        return self._views[state.mode](state.x, self._u, state.p)
