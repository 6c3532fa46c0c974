"""What a rolling system may offer beside the contract, and the one way to ask for it."""

from __future__ import annotations

import inspect
from typing import Protocol, TypeVar

from rolling_dynamics.contract.regulator_weights import RegulatorWeights
from rolling_dynamics.contract.rolling_system import RollingSystem

Capability = TypeVar('Capability')


def offers(system: object, capability: type[Capability]) -> Capability | None:
    """
    Return the system as one that has a capability, None where it does not offer it.

    Nothing is evaluated: a property that is costly, or refuses in the state of the system, is
    touched by who uses it.

    Parameters
    ----------
    system
        Any rolling system.
    capability
        A protocol of this module, or one of your own.

    """
    if all(_has(system, name) for name in _members(capability)):
        return system  # type: ignore[return-value]
    return None


def _members(capability: type) -> list[str]:
    declared = vars(capability)
    return [n for n in (*declared, *declared.get('__annotations__', ())) if not n.startswith('_')]


def _has(system: object, name: str) -> bool:
    try:
        inspect.getattr_static(system, name)
    except AttributeError:  # a view of another system may hand its attributes on
        return hasattr(type(system), '__getattr__') and hasattr(system, name)
    return True


class DefaultWeights(Protocol):
    """Knows what a regulator should weigh; other systems are weighed by their layouts' scales."""

    @property
    def default_weights(self) -> RegulatorWeights:
        """Weights of a regulator where a user gives none."""
        ...


def default_weights(system: RollingSystem) -> RegulatorWeights:
    """Return the weights of a regulator that a system offers, else those of its scales."""
    own = offers(system, DefaultWeights)
    if own is not None:
        return own.default_weights
    return RegulatorWeights.from_scales(system.tangent, system.control)
