"""Parameters of nodes as a table with ranges, and those that several nodes have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, KW_ONLY
import math
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterEvent,
    ParameterType,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rolling_dynamics.errors import LONGEST_NAME, ParameterError, printable, quoted
from rolling_dynamics.fingerprint import fingerprint

FINGERPRINT = 'fingerprint'  # of the computer, next to the parameters in force
FORMAT, NEWEST_FORMAT = (
    'recording_format',
    2,
)  # of a recording; 0 if none


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of a node.

    Attributes
    ----------
    name
        Name, possibly dotted.
    default
        Default value; its type is the type of the parameter.
    text
        Meaning, in one line.
    unit
        SI unit; the empty string if dimensionless.
    limits
        Minimum and maximum (of every element of an array), None where there is none.
    choices
        The only values allowed; empty if any is.
    length
        Number of elements of an array, None if any.
    read_only
        Whether it is fixed once the node has started.

    """

    name: str
    default: Any
    text: str
    _: KW_ONLY
    unit: str = ''
    limits: tuple[float | None, float | None] = (None, None)
    choices: tuple[Any, ...] = ()
    length: int | None = None
    read_only: bool = False

    def problem(self, value: Any) -> str | None:
        """Return the error of a value of the right type, or None."""
        is_array = hasattr(value, '__len__') and not isinstance(value, str)
        elements = value if is_array else [value]
        if self.length is not None and len(elements) != self.length:
            return f'{self.name} takes {self.length} numbers, got {len(elements)}'
        if self.choices and value not in self.choices:
            known = ', '.join(str(c) for c in self.choices)
            return f'{self.name} must be one of {known}, got {_given(value)}'
        for element in elements:
            reason = self._out_of_range(element)
            if reason is not None:
                return f'{self.name} must be {reason}{self._unit_text()}, got {element!r}'
        return None

    def _unit_text(self) -> str:
        return f' {self.unit}' if self.unit else ''

    def _out_of_range(self, element: Any) -> str | None:
        if not isinstance(element, int | float) or isinstance(element, bool):
            return None
        if not math.isfinite(element):
            return 'finite'
        low, high = self.limits
        if low is not None and element < low:
            return f'at least {low:g}'
        if high is not None and element > high:
            return f'at most {high:g}'
        return None

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor that tools show."""
        unit = f' [{self.unit}]' if self.unit else ''
        out = ParameterDescriptor(description=f'{self.text}{unit}', read_only=self.read_only)
        if self.choices:
            out.additional_constraints = 'one of ' + ', '.join(str(c) for c in self.choices)
        low, high = self.limits
        if low is None and high is None:
            return out
        if isinstance(self.default, float):
            out.floating_point_range = [
                FloatingPointRange(
                    from_value=-math.inf if low is None else float(low),
                    to_value=math.inf if high is None else float(high),
                )
            ]
        elif isinstance(self.default, int):
            out.integer_range = [
                IntegerRange(
                    from_value=-(2**63) if low is None else int(low),
                    to_value=2**63 - 1 if high is None else int(high),
                )
            ]
        return out


def _given(value: Any) -> str:
    """Return the value in a message, which anybody may have sent."""
    return quoted(value) if isinstance(value, str) else printable(repr(value), LONGEST_NAME)


def fixed(name: str, default: Any, text: str, **options: Any) -> Parameter:
    """Return a parameter that is fixed once the node has started; see :class:`Parameter`."""
    return Parameter(name, default, text, read_only=True, **options)


class ParameterTable:
    """Declares the parameters of a node and watches over their values."""

    def __init__(
        self,
        node: Node,
        table: Sequence[Parameter],
        cross_check: Callable[[dict[str, Any]], str | None] | None = None,
    ) -> None:
        """
        Declare every parameter of the table.

        Parameters
        ----------
        node
            The node that gets the parameters.
        table
            The parameters.
        cross_check
            From all values by name to the error of their combination, or None.

        Raises
        ------
        ParameterError
            A value given at start-up is of the wrong type or not allowed.

        """
        self._node = node
        self._table: dict[str, Parameter] = {}
        self._cross_check = cross_check
        self.add(table)
        node.add_on_set_parameters_callback(self._judge)

    def add(self, table: Sequence[Parameter]) -> None:
        """Declare further parameters, but for those that there are; see the initializer."""
        for entry in table:
            if entry.name not in self._table:
                self._declare(entry)
                self._table[entry.name] = entry

    def __getitem__(self, name: str) -> Any:
        """Return the present value of a parameter."""
        return self._node.get_parameter(name).value

    def get(self, name: str, default: Any = None) -> Any:
        """Return the present value of a parameter, the default of one that is not declared."""
        return self[name] if name in self._table else default

    def as_dict(self) -> dict[str, Any]:
        """Return the present values of all parameters by name."""
        return {name: self[name] for name in self._table}

    def in_force(self, **instead: Any) -> ParameterEvent:
        """
        Return all parameters as a message, with other values instead or in addition.

        It includes ``use_sim_time``, the fingerprint of the computer and the version of the
        recording format, for a replay.
        """
        parameters = [
            self._node.get_parameter(name)
            for name in (*self._table, 'use_sim_time')
            if name not in instead
        ]
        given = {**instead, FINGERPRINT: fingerprint(), FORMAT: NEWEST_FORMAT}
        parameters += [RosParameter(name, value=value) for name, value in given.items()]
        return ParameterEvent(
            stamp=self._node.get_clock().now().to_msg(),
            node=self._node.get_fully_qualified_name(),
            new_parameters=[parameter.to_parameter_msg() for parameter in parameters],
        )

    def _declare(self, entry: Parameter) -> None:
        try:
            self._node.declare_parameter(entry.name, entry.default, entry.descriptor())
        except InvalidParameterTypeException:
            given = self._node._parameter_overrides[entry.name].value  # noqa: SLF001
            wanted = RosParameter.Type.from_parameter_value(entry.default).name.lower()
            raise ParameterError(
                f'parameter {entry.name} must be of type {wanted}, for example '
                f'{entry.default!r}, got {_given(given)}'
            ) from None
        except InvalidParameterValueException as error:
            given = self._node._parameter_overrides[entry.name].value  # noqa: SLF001
            reason = entry.problem(given) or str(error)
            raise ParameterError(f'parameter {reason}') from None
        reason = entry.problem(self[entry.name])
        if reason is not None:
            raise ParameterError(f'parameter {reason}')

    def _judge(self, changes: list[RosParameter]) -> SetParametersResult:
        values = self.as_dict()
        for change in changes:
            entry = self._table.get(change.name)
            if entry is None:
                continue
            reason = entry.problem(change.value)
            if reason is not None:
                return SetParametersResult(successful=False, reason=reason)
            values[change.name] = change.value
        reason = self._cross_check(values) if self._cross_check else None
        return SetParametersResult(successful=reason is None, reason=reason or '')


def parameter_values(message: ParameterEvent) -> dict[str, Any]:
    """Return the values by name of :meth:`ParameterTable.in_force`; arrays as lists."""
    known = range(ParameterType.PARAMETER_BOOL, ParameterType.PARAMETER_STRING_ARRAY + 1)
    return {
        parameter.name: parameter_value_to_python(parameter.value)
        for parameter in message.new_parameters
        if parameter.value.type in known
    }


COMMON = (  # of every node
    fixed('autostart', True, 'configure and activate without a lifecycle manager'),
    fixed(
        'realtime_priority',
        0,
        'real-time priority (SCHED_FIFO); 0 = off; needs the permission to set it',
        limits=(0, 90),
    ),
    fixed(
        'diagnostics_period',
        1.0,
        'period of the messages on /diagnostics',
        limits=(0.05, 60.0),
        unit='s',
    ),
)
OVERRUN = (
    Parameter(
        'overrun_window',
        1.0,
        'window over which missed loop deadlines are counted; not with use_sim_time',
        limits=(0.1, 60.0),
        unit='s',
    ),
    Parameter(
        'overrun_warn',
        0.25,
        'fraction of missed deadlines above which diagnostics warn; 1 = never',
        limits=(0.0, 1.0),
    ),
    Parameter(
        'overrun_error',
        0.5,
        'fraction of missed deadlines above which diagnostics report an error; 1 = never',
        limits=(0.0, 1.0),
    ),
    Parameter(
        'overrun_abort',
        1.0,
        'fraction of missed deadlines above which the node stops safely, as by ~/stop; 1 = never',
        limits=(0.0, 1.0),
    ),
)
SCENARIO = fixed('scenario_file', '', 'scenario of the machine; a path, or a name in config/')
CONTACT_RATE = fixed(
    'contact_rate',
    100.0,
    'publication rate of contact coordinates, wrench and joints',
    limits=(1.0, 1000.0),
    unit='Hz',
)
TF_RATE = fixed('tf_rate', 50.0, 'publication rate of the frames', limits=(1.0, 100.0), unit='Hz')
MARKER_RATE = fixed(
    'marker_rate',
    20.0,
    'publication rate of markers and contact state',
    limits=(1.0, 60.0),
    unit='Hz',
)
LOCKSTEP_TIMEOUT = Parameter(
    'lockstep_timeout',
    5.0,
    'maximum wait for the answer to a step, in wall-clock time, with use_sim_time',
    limits=(0.01, 60.0),
    unit='s',
)
RATE_FACTOR = Parameter(
    'rate_factor', 1.0, 'real-time factor; only with use_sim_time', limits=(0.01, 100.0)
)
