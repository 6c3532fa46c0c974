"""Exceptions of the suite, all below one base class."""


class RollingError(Exception):
    """Base class of every exception that the suite raises on purpose."""


class ParameterError(RollingError, ValueError):
    """A physical parameter, a state or an option lies outside its range."""


class ExpressionError(RollingError, ValueError):
    """A formula given as text cannot be understood."""


class SurfaceError(RollingError, ValueError):
    """A chart is not a regular surface at a point, or two surfaces cannot roll there."""


class ScenarioError(RollingError, ValueError):
    """An entry of a scenario is missing, misspelt or out of range; the text names its path."""


class SimulationError(RollingError, RuntimeError):
    """An integration could not be carried to its end."""


class JammingError(SimulationError):
    """An impact under Coulomb friction does not come to an end."""


class PlanningError(RollingError, RuntimeError):
    """No plan was found; the text names what could not be met."""


class CancelledError(RollingError):
    """The caller asked for the work to stop."""


class ConformanceError(RollingError):
    """A system does not keep the contract; the text has a line for each check that failed."""
