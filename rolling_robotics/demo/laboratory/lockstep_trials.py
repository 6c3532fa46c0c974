"""Trials of the laboratory without topics: law and simulated plant take turns in this process."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache

import numpy as np
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.laboratory.laws import chosen_law, subject_of
from rolling_controller.law import answered, gathered, MODE, STATE
from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, planar_hybrid_of
from rolling_dynamics.scenario_model import load_model
from rolling_robotics.experiments import parameters_of
from rolling_robotics.trials.trial import Record, Trial

EVERY = 5  # periods between two samples that are kept


class LockstepTrials:
    """The plant and the laws of an experiment, as its nodes have them."""

    def __init__(self, experiment: str) -> None:
        """Plan and design; takes seconds."""
        given = parameters_of(experiment, 'simulator')
        model = load_model(given['scenario_file'])
        self._dt = 1.0 / float(given['rate'])
        self._subject = subject_of(experiment, model)
        self._prepared = self._subject.prepare()
        bodies = planar_hybrid_of if given['planar'] else hybrid_of
        hybrid = bodies(
            model.system,
            model.params,
            slip_share=given['slip_share'],
            resistance=given.get('rolling_resistance', 0.0),
        )
        self._plant = EmulatedObject(
            model.system,
            model.params,
            model.start,
            hybrid=hybrid,
            brake_time=given['brake_time'],
            limits=model.control_limits,
        )

    def run(self, trial: Trial) -> tuple[Record, Array, list[tuple[float, str]]]:
        """
        Run one trial.

        Returns
        -------
        Record, NDArray, list
            The record without arrays; attitudes of the object (w, x, y, z) at its times, shape
            (k, 4); time [s] and name of each mode of the contact.

        """
        plant, subject = self._plant, self._subject
        d = trial.disturbances
        plant.factors = {
            'inertia': d['inertia_factor'], 'rolling_resistance': d['resistance_factor'],
        }  # fmt: skip
        plant.reset(position=trial.position, rotation=trial.rotation)
        plant.release()
        subject.source.restart()
        chosen = chosen_law(self._prepared, trial.law)
        rows: list[np.ndarray] = []
        modes = [(0.0, plant.contact_mode)]

        def motion() -> Generator[tuple[float, Array], Array, None]:
            for k in range(round(trial.duration / self._dt) + 1):
                t, seen, mode = k * self._dt, plant.observe(), plant.contact_mode
                if k % EVERY == 0:
                    rows.append(seen.object_[:4].copy())
                x, _ = subject.source.state(seen.hand, seen.object_)
                touching = np.array([float(mode != 'separated')])
                u = yield t, gathered(chosen.inputs, {STATE: x, MODE: touching})
                plant.step(subject.widened(u), self._dt)
                if plant.contact_mode != modes[-1][1]:
                    modes.append((t, plant.contact_mode))
                if plant.fault:
                    break

        _, memory = answered(chosen, motion())
        since = balancing_since(memory)
        record = Record(
            law=trial.law,
            seed=trial.seed,
            times=np.arange(len(rows), dtype=float) * EVERY * self._dt,
            end=trial.duration,
            ended=f'ended early: {plant.fault}' if plant.fault else '',
            values={} if since is None else {'balancing_since': since},
        )
        return record, np.array(rows), modes


@cache
def lockstep_trials(experiment: str) -> LockstepTrials:
    """Return the trials of an experiment, which are prepared once."""
    return LockstepTrials(experiment)
