"""Trials of a machine under one law for a time, and whether it stands at a state in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rolling_controller.law import Law
from rolling_controller.lockstep import run_emulated, run_lockstep
from rolling_controller.measured_state import MeasuredLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.scenario_model import Model, RobotModel
from rolling_dynamics.simulation.emulation import Emulation
from rolling_robotics.arrays import layout_series
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing(Task):
    """
    Task: a machine under a law, for the duration of the trial.

    Attributes
    ----------
    model
        The machine with its nominal start.
    law
        The law. A law of the state is given the true state; a :class:`MeasuredLaw` the
        measurements of the scenario's sensors, with the noise of the trial's random seed.
    rate
        Steps of a law of the state per second [Hz].
    signals
        ``t -> value`` with t in s, for the other inputs of such a law by name.

    """

    model: Model | RobotModel
    law: Law[Any]
    rate: float = 1000.0
    signals: Callable[[float], Mapping[str, Array]] = lambda _: {}

    def run(self, trial: Trial) -> Record:
        """Carry out a trial; its record has states and controls at every step of the machine."""
        model, law = self.model, self.law
        given, x = (model.system, model.params), self._start(trial)
        limits, actuators = model.control_limits, model.scenario.actuators
        pushes = self._pushes(trial)
        if isinstance(law, MeasuredLaw):
            sensors = model.scenario.sensors
            plant = Emulation(*given, sensors, actuators, limits=limits, seed=trial.seed)
            plant.restart(x, np.zeros(model.system.control.size))
            known, length = law.state.given, trial.duration
            run = run_emulated(plant, law, known, length, lambda u: u, pushes=pushes)
        else:
            run = run_lockstep(
                *given, x, law, trial.duration, rate=self.rate, actuators=actuators,
                limits=np.inf if limits is None else limits, signals=self.signals, pushes=pushes,
            )  # fmt: skip
        ended = '' if run.ended is None else run.ended.name
        return Record(
            times=run.times,
            arrays={
                **layout_series(model.system.state, run.states),
                **layout_series(model.system.control, run.controls),
            },
            events=[(e.time, e.name) for e in run.events],
            end=trial.duration,
            ended=ended or getattr(run.memory, 'fault', ''),
        )

    def _pushes(self, trial: Trial) -> list[tuple[float, Callable[[Array], Array]]]:
        """Return times of pushes [s], and from a state to that after each."""
        if not trial.pushes:
            return []
        impulse = Impulse(self.model.system, self.model.params)

        def by(velocity: Sequence[float]) -> Callable[[Array], Array]:
            return lambda x: impulse.after(x, impulse.mass * np.array(velocity))

        return [(t, by(velocity)) for t, velocity in trial.pushes]

    def _start(self, trial: Trial) -> Array:
        """Return the start of the machine, shifted and turned."""
        model, tangent = self.model, self.model.system.tangent
        if isinstance(model, Model):
            d = np.zeros(tangent.size)
            d[tangent.slice('contact_h')] = trial.position
            d[tangent.slice('d_HO')] = trial.rotation
        else:
            position, rotation = np.array(trial.position), np.array(trial.rotation)
            d = model.view.shift @ position + model.view.turn @ rotation
        return np.array(model.system.retract(model.start, d)).ravel()


@dataclass(frozen=True, eq=False, kw_only=True)
class Stands(Criterion):
    """
    Criterion: the motion lasts, and ends near a state.

    Attributes
    ----------
    system, x
        The system, and the state.
    within
        Maximum magnitude of tangent entries, or of one of their numbers, by name.
    last
        Time over which the error is averaged against noise [s]; 0 for the last state.

    """

    system: RollingSystem
    x: Array
    within: Mapping[str, float]
    last: float = 0.0

    def outcome(self, record: Record) -> Outcome:
        """Return the maximum error relative to its tolerance."""
        system, tangent = self.system, self.system.tangent
        late = record.times >= record.times[-1] - self.last
        each = [system.difference(x, self.x) for x in record.states(system)[late]]
        mean = np.abs(np.mean(each, axis=0)).ravel()
        off = dict(zip(tangent.names, mean, strict=True))
        off |= {entry.name: mean[tangent.slice(entry.name)].max() for entry in tangent.entries}
        name = max(self.within, key=lambda n: off[n] / self.within[n])
        error, tolerance = float(off[name]), self.within[name]
        failure = '' if error < tolerance else f'{name} is {error:.3g} off in the end'
        return Outcome(failure=record.ended or failure, error=error, tolerance=tolerance)
