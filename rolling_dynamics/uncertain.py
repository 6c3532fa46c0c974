"""Systems with uncertain parameters as states, so that a filter estimates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    Mode,
    RollingSystem,
    WrittenSystem,
)
from rolling_dynamics.errors import check_names


class UncertainSystem(WrittenSystem):
    """
    A system with parameters known up to factors, in the mode for controllers.

    Its state is that of the whole system, then the logarithm of the factor of each uncertain
    parameter, ``NAME_log``, which is constant.
    """

    def __init__(self, system: RollingSystem, uncertain: Sequence[str]) -> None:
        """Take a system and the entries of its parameters that are uncertain."""
        check_names(uncertain, [e.name for e in system.parameters.entries], 'no parameter')
        self.whole, self.name, self._uncertain = system, system.name, tuple(uncertain)
        logs = (Entry(f'{name}_log', (f'{name}_log',), '') for name in uncertain)
        self.state = Layout((*system.state.entries, *logs))
        self.control, self.parameters = system.control, system.parameters

    def _of_whole(self, f: ca.Function) -> list[ca.SX]:
        """Return the outputs of a function of the whole system in the symbols of this one."""
        s, n = self.symbols, self.whole.state.size
        p = ca.SX(s.p)
        for k, name in enumerate(self._uncertain):
            p[self.parameters.slice(name)] *= ca.exp(s.x[n + k])
        given = [s.x[:n], s.u, s.t, p]
        outputs: list[ca.SX] = f.call(given if f.n_in() == 4 else [given[0], p])
        return outputs

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """The one mode."""
        (rates,) = self._of_whole(smooth_mode(self.whole).dynamics)
        still = ca.SX(len(self._uncertain), 1)
        return {'rolling': Mode(dynamics=self.function('f', ca.vertcat(rates, still)))}

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> poses`` of the bodies in W."""
        pose = self.whole.pose
        return self.of_state('pose', *self._of_whole(pose), names=pose.name_out())

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Invariants of the whole system."""
        whole = self.whole.invariants
        return self.functions({name: self._of_whole(f)[0] for name, f in whole.items()})
