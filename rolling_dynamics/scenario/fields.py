# ruff: noqa: ANN401 (entries of a YAML file may be anything, a field has its annotation's type)
"""
Sections of a scenario as pydantic models, and their fields.

Every number may be a formula such as ``pi/2``. A field without a default is required; one whose
default is None may be left out, but not be null::

    class Shell(Section):
        mass: float = quantity('mass', 'kg', positive=True)
        mu: float = quantity('coefficient of static friction', least=0, default=1.0)

Fields are typed Any, so that each has the type of its annotation. In dataclasses they are in the
annotation: ``mass: Annotated[float, quantity('mass', 'kg', positive=True)]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
import logging
from typing import Annotated, Any, get_args, TypeVar, Union

import casadi as ca
import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema, CoreSchema, PydanticCustomError, PydanticKnownError
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ExpressionError, nearest, printable, suggestion
from rolling_dynamics.plugin import BROKEN
from rolling_dynamics.scenario.control import formula_of_time, number, SMALLEST
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.faults import Json, schema_of

LOG = logging.getLogger(__name__)
T = TypeVar('T')
S = TypeVar('S', bound='Section')
Count = int | tuple[int, int | None]  # of the entries of a list: exactly, or minimum and maximum
TIME = ca.SX.sym('t')  # of every formula of time
WRONG_TYPE = PydanticCustomError('wrong_type', 'is of another type than its schema says')


def refused(text: str, *path: str | int) -> PydanticCustomError:
    """
    Return the exception that a validator raises.

    Parameters
    ----------
    text
        The error, and valid values.
    path
        Path inside the entry that is validated, if an inner entry is at fault.

    """
    return PydanticCustomError('entry', '{text}', {'text': text, 'path': path})


class Section(BaseModel):
    """A mapping of entries, with a field for each."""

    model_config = ConfigDict(
        strict=True, extra='forbid', frozen=True, arbitrary_types_allowed=True, defer_build=True
    )

    @property
    def given(self) -> set[str]:
        """Names of the entries that were given."""
        return self.model_fields_set


# of a dataclass that is a section: `__pydantic_config__ = SECTION`; it has no strict mode, which
# would take instances only
SECTION = ConfigDict(extra='forbid')


def usual(section: type[S]) -> S:
    """Return a section of which nothing is given."""
    return section.model_construct()


def gone(**instead: str) -> Any:
    """Return a validator that rejects entries of former versions, with texts by name."""

    def refuse(given: Any) -> Any:
        for name in instead.keys() & given if isinstance(given, dict) else ():
            raise refused(instead[name], name)
        return given

    return model_validator(mode='before')(refuse)


class OneOf(Section):
    """A mapping of exactly one entry."""

    model_config = ConfigDict(json_schema_extra={'minProperties': 1, 'maxProperties': 1})

    @model_validator(mode='after')
    def _one(self) -> OneOf:
        if len(self.given) != 1:
            known, given = ', '.join(type(self).model_fields), ', '.join(self.given) or 'none'
            raise refused(f'exactly one of {known} is needed, got {given}')
        return self

    @property
    def only(self) -> tuple[str, Any]:
        """Name and value of the entry."""
        (name,) = self.given
        return name, getattr(self, name)


def scalar(given: Any) -> Any:
    """Return a number or a text as it is; reject anything else."""
    if type(given) not in (float, int, str):
        raise WRONG_TYPE
    return given


def _number(given: Any) -> float:
    try:
        return number(scalar(given))
    except ExpressionError as e:
        raise refused(str(e)) from None


@lru_cache(maxsize=1024)
def _formula(given: str | float) -> ca.SX:
    try:
        return formula_of_time(given, TIME)
    except ExpressionError as e:
        raise refused(str(e)) from None


def types(*names: str, **keywords: Any) -> WithJsonSchema:
    """Return the JSON Schema of an entry that a function of Python reads."""
    return WithJsonSchema({'type': list(names), **keywords})


Number = Annotated[float, BeforeValidator(_number)]
NotNegative = Annotated[float, Field(ge=0), BeforeValidator(_number)]
Positive = Annotated[float, Field(ge=SMALLEST), BeforeValidator(_number)]  # so are its powers
Term = Annotated[str | float, PlainValidator(scalar), types('number', 'string')]
Formula = Annotated[
    ca.SX,
    PlainValidator(lambda given: _formula(scalar(given))),
    types('number', 'string', format='formula_t'),
]


def _brought(given: Any, info: ValidationInfo) -> Any:
    if (info.context or {}).get(info.field_name, info) is not given:
        raise PydanticKnownError('extra_forbidden')
    return given


# of a problem, by its scenario: an entry of this name is unknown to the section
Brought = Annotated[T, PlainValidator(_brought), SkipJsonSchema()]


def several(of: Any = Number, count: Count = (0, None), made: Any = None) -> Any:
    """Return the type of a list of entries, of which ``made`` makes something."""
    low, high = count if isinstance(count, tuple) else (count, count)
    items = Annotated[list[of], Field(min_length=low or None, max_length=high, strict=True)]
    return Annotated[items, AfterValidator(made)] if made else items


def by_name(of: Any) -> Any:
    """Return the type of a mapping from names to entries."""
    return dict[str, of]


def array(of: Any = Number, count: Count = (0, None)) -> Any:
    """Return the type of an array: a list of numbers, or of lists of as many numbers."""
    return several(of, count, partial(np.array, dtype=float))


def tensor(given: Any, word: str = '') -> Array | str:
    """Return nested lists of numbers as an array, in the unit and the shape of the entry."""
    if word and given == word:
        return word
    hint = f'; or write {word!r}' if word else ''

    def read(given: Any, path: tuple[int, ...]) -> Any:
        if type(given) is list:
            return [read(value, (*path, k)) for k, value in enumerate(given)]
        if type(given) not in (float, int, str):
            raise refused(f'must be a number or a formula, got {shorten(given)}', *path)
        try:
            return number(given)
        except ExpressionError as e:
            raise refused(f'{e}{hint}', *path) from None

    if isinstance(given, bool | dict) or given is None:
        raise WRONG_TYPE
    values = read(given, ())
    try:
        return np.array(values, dtype=float)
    except ValueError:
        raise refused(f'the rows differ in length, got {given!r}{hint}') from None


def tensors(word: str = '') -> Any:
    """Return the type of a tensor, see :func:`tensor`."""
    return Annotated[
        Any, PlainValidator(partial(tensor, word=word)), types('number', 'string', 'array')
    ]


def either(**choices: Any) -> Any:
    """Return the type of an entry by what YAML has there: ``scalar``, ``several``, ``mapping``."""
    tags = {list: 'several', dict: 'mapping', str: 'scalar', int: 'scalar', float: 'scalar'}
    known = {kind: f'<{tag}>' for kind, tag in tags.items() if tag in choices}
    union: Any = Union[  # noqa: UP007  of types that are known at run time
        tuple(Annotated[choice, Tag(f'<{tag}>')] for tag, choice in choices.items())
    ]
    return Annotated[union, Discriminator(lambda given: known.get(type(given)))]


@dataclass(frozen=True)
class _As:
    """Read an entry as another type than its annotation's, without it as one not null."""

    read: Any = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return handler.generate_schema(self.read or source.__args__[0])


def note(text: str = '', unit: str = '', default: Any = ..., **bounds: Any) -> Any:
    """Return a field that is read by its annotation: a section, names, a list."""
    extra: Json = {'unit': unit} if unit else {}
    if isinstance(default, np.ndarray):
        default.flags.writeable = False  # one for all, and pydantic would copy it each time
        extra |= {'default': default.tolist()} if np.isfinite(default).all() else {}
        bounds['default_factory'] = lambda: default
    else:
        bounds['default'] = default
    field = Field(description=text or None, json_schema_extra=extra or None, **bounds)
    if default is None:
        field.metadata.insert(0, _As())
    return field


def entry(read: Any, text: str = '', unit: str = '', default: Any = ...) -> Any:
    """Return a field that is read as another type than its annotation's."""
    field = note(text, unit, default)
    field.metadata = [_As(read)]
    return field


def section(model: type[S]) -> Any:
    """Return a field that is a section, of which nothing is given if it is left out."""
    return Field(default_factory=cache(lambda: usual(model)))


def whole(text: str, least: int, most: int | None = None, default: Any = ...) -> Any:
    """Return a field that is an integer."""
    return note(text, default=default, ge=least, le=most)


def quantity(
    text: str = '',
    unit: str = '',
    default: Any = ...,
    positive: bool = False,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Return a field that is a number, positive or between bounds."""
    bounds = Field(ge=SMALLEST if positive else least, le=most)
    return entry(Annotated[float, bounds, BeforeValidator(_number)], text, unit, default)


def described(parameters: Iterable[Entry], name: str, **changed: Any) -> Any:
    """Return the field of a parameter of a description: its sentence, unit and sign."""
    (of,) = (entry for entry in parameters if entry.name == name)
    least = {'least': 0} if of.sign == 'zero or positive' else {}
    given: dict[str, Any] = {'text': of.text, 'unit': of.unit, 'positive': of.sign == 'positive'}
    return quantity(**(given | least | changed))


def numbers(text: str = '', unit: str = '', default: Any = ..., **shape: Any) -> Any:
    """Return a field that is an array, see :func:`array` for its shape."""
    return entry(array(**shape), text, unit, default)


vector = partial(numbers, count=3)
pair = partial(numbers, count=2)


def formula(text: str = '', unit: str = '', default: Any = ...) -> Any:
    """Return a field that is a formula of the time."""
    return entry(Formula, text, unit, default)


def formulas(text: str = '', unit: str = '', default: Any = ..., **of: Any) -> Any:
    """Return a field that is a list of three formulas of the time, or what else is given."""
    return entry(several(**{'of': Formula, 'count': 3} | of), text, unit, default)


terms = partial(formulas, of=Term)  # formulas in other names, as they are written


class Kinds:
    """
    Models of sections distinguished by a field ``kind: Literal['name']``, to which packages add.

    As the type of an entry it reads a section of one of the kinds that are known by then.

    Attributes
    ----------
    what
        What there are kinds of; ``rolling_robotics.<what>s`` is the group of entry points that
        name models of further kinds.
    own
        Models of this process, by kind.

    """

    def __init__(self, what: str) -> None:
        """Start with no kind."""
        self.what = what
        self.own: dict[str, type[Section]] = {}

    def add(self, model: type[S]) -> type[S]:
        """Add a model for this process; a decorator of its class."""
        (kind,) = get_args(model.model_fields['kind'].annotation)
        self.own[kind] = model
        schema_of.cache_clear()
        return model

    def all(self) -> dict[str, type[Section]]:
        """Return all models, also those that packages bring."""
        return self._installed | self.own

    @cached_property
    def _installed(self) -> dict[str, type[Section]]:
        """Models that packages bring; one that cannot be loaded is a line in the log."""
        from importlib.metadata import entry_points  # noqa: PLC0415  20 ms that few need

        found = {}
        for point in entry_points(group=f'rolling_robotics.{self.what}s'):
            try:
                model = point.load()
                if not issubclass(model, Section):
                    raise TypeError(f'a Section is needed, got {model!r}')
            except BROKEN as e:
                text = printable(f'{type(e).__name__}: {e}')
                LOG.warning('%s %s (%s) is left out: %s', self.what, point.name, point.value, text)
            else:
                found[point.name] = model
        return found

    def read(self, given: Any) -> Section:
        """Return the section of its kind."""
        if type(given) is not dict:
            raise WRONG_TYPE
        if 'kind' not in given:
            close = nearest('kind', given)
            hint = f'; is it {close!r}, misspelt?' if close else ''
            raise refused(f'is missing (kind of {self.what}){hint}', 'kind')
        kind = given['kind']
        known = self.own if str(kind) in self.own else self.all()
        if not isinstance(kind, str) or kind not in known:
            raise refused(f'got {shorten(kind)}{suggestion(str(kind), list(known))}', 'kind')
        return known[kind].model_validate(given)

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        """Let pydantic read it."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> Json:
        """Return a schema for each kind, as conditions: an editor completes the one at hand."""
        branches = [
            {
                'if': {'required': ['kind'], 'properties': {'kind': {'const': kind}}},
                'then': schema_of(model),
            }
            for kind, model in self.all().items()
        ]
        kind = {'enum': list(self.all()), 'description': f'kind of {self.what}'}
        return {
            'type': 'object', 'required': ['kind'], 'properties': {'kind': kind}, 'allOf': branches
        }  # fmt: skip
