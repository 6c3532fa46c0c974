"""A rail given by three formulas in theta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.internal_masses.rails.rail import Rail


class ExpressionRail(Rail):
    """Curve (x(theta), y(theta), z(theta)); its lengths may be named parameters."""

    kind = 'expression'

    def __init__(
        self,
        formulas: Sequence[str | float],
        values: Mapping[str, float] | None = None,
        *,
        stops: tuple[float, float] | None = None,
        period: float | None = None,
        unit: str = 'rad',
    ) -> None:
        """
        Read the formulas.

        Parameters
        ----------
        formulas
            Three formulas in ``theta`` and the names of ``values`` [m].
        values
            Parameters by name.
        stops
            Least and greatest theta; needed where there is no period.
        period
            Period of theta on a closed rail.
        unit
            Unit of theta.

        """
        if isinstance(formulas, str) or len(formulas) != 3:
            raise ParameterError('expression rail: three formulas x, y, z are needed')
        self._formulas, self.unit = tuple(formulas), unit
        self._given = dict(values or {})
        super().__init__(self._given, stops, period)
        self.span()
        self.position(ca.SX.sym('theta'), self.values)

    def position(self, theta: ca.SX, values: Mapping[str, ca.SX | float]) -> ca.SX:
        """Return the three formulas at theta."""
        symbols = {name: ca.SX(values.get(name, 0)) for name in self._given}
        symbols['theta'] = theta
        return ca.vertcat(*(parse_expression(f, symbols) for f in self._formulas))
