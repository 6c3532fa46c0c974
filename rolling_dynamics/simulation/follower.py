"""What looks at the whole path of an integration, not only at its output times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem


class Follower(Protocol):
    """
    Follows quantities that output times alone do not say, such as angles over whole turns.

    It is given each stretch of the motion once, in order of time.
    """

    def along(
        self,
        system: RollingSystem,
        borders: Array,
        interpolate: Callable[[Array], Array],
        times: Array,
    ) -> Array:
        """
        Return the quantities at output times of a stretch.

        Parameters
        ----------
        system
            The system on the charts in use.
        borders
            Borders of the integration's steps [s], the last one the end of the stretch.
        interpolate
            ``times (N,) -> states (N, n)`` within the stretch.
        times
            Output times within it [s], shape (M,), M >= 0.

        Returns
        -------
        NDArray[np.float64]
            Shape (M, k).

        """
        ...

    def at(self, system: RollingSystem, x: Array) -> Array:
        """Return the quantities at the end of the motion so far, shape (k,), in their units."""
        ...
