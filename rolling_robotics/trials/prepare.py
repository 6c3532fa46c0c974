"""
The experiments of the laboratory in the plane, with what success means in each.

Woodruff & Lynch, Sections VIII-C (damping), VIII-D (flip-up) and VIII-E (throw and catch).
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from types import MappingProxyType
from typing import Any

from rolling_controller.laboratory.experiment_model import subject_of
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import FLAT, Laboratory, UPRIGHT
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm_model import ArmModel
from rolling_robotics.trials.experiment import Experiment

DURATION = 7.0  # s
TURNED = 0.3  # rad: from where the rocking of the object is damped
THROWING_BASE = (-0.35, -0.25)  # m, of the arm that throws
REST = 0.1  # share of that below which it rests


def _flip_up(laboratory: Laboratory) -> dict[str, Any]:
    start = laboratory.rest(FLAT, -laboratory.circumference / 4)
    return {'start': start, 'goal': UPRIGHT, 'tolerance': 0.05}


def _throw_catch(laboratory: Laboratory) -> dict[str, Any]:
    # it turns over in flight: upright is every half turn
    options = {'goal': UPRIGHT, 'tolerance': 0.05, 'every': math.pi}
    # the object is caught 0.2 m on, and the hand has to go further to balance it
    arm = ArmModel(base=THROWING_BASE)
    return {
        'start': laboratory.rest(FLAT), 'flights': 1, 'may_slip': True, 'arm': arm, **options,
    }  # fmt: skip


def _damping(laboratory: Laboratory) -> dict[str, Any]:
    return {'start': laboratory.rest(FLAT + TURNED), 'goal': FLAT, 'tolerance': REST * TURNED}


MADE = {'damping': _damping, 'flip_up': _flip_up, 'throw_catch': _throw_catch}
LAWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'damping': ('open_loop', 'closed_loop'),
        'flip_up': ('open_loop', 'replay_balance', 'closed_loop'),
        'throw_catch': ('open_loop', 'closed_loop'),
    }
)


def setting(name: str) -> dict[str, Any]:
    """Return what :class:`Experiment` says of an experiment apart from its laws, at once."""
    if name not in MADE:
        raise ParameterError(f'no experiment {name!r}; there are: {", ".join(MADE)}')
    laboratory = Laboratory()
    return {
        'name': name,
        'laboratory': laboratory,
        'duration': DURATION,
        **MADE[name](laboratory),
    }


def build(name: str) -> Experiment:
    """
    Plan an experiment of the paper's object and plate and design its laws; takes seconds.

    Parameters
    ----------
    name
        ``damping``, ``flip_up`` or ``throw_catch``.

    Raises
    ------
    ParameterError
        There is no such experiment.

    """
    known = setting(name)
    subject = subject_of(name, load_model(f'laboratory_{name}'))
    return Experiment(laws=subject.prepare().laws, **known)
