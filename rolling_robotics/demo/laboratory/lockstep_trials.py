"""Trials of the laboratory without topics: law and simulated plant take turns in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rolling_controller.laboratory.experiment_model import subject_of
from rolling_controller.laboratory.laws import chosen_law
from rolling_dynamics.configuration import find_config
from rolling_dynamics.hybrid_contact.plant_view import VIEW
from rolling_dynamics.hybrid_contact.simulated_plant import SimulatedHybridPlant
from rolling_dynamics.scenario_model import load_model
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import Offset, TrialSeen
from rolling_robotics.experiments import find_experiment
import yaml

EVERY = 5  # periods between two samples that are kept
HAND = slice(VIEW.slice('q_WH').start, VIEW.slice('v_WH_H').stop)
OBJECT = slice(VIEW.slice('q_WO').start, VIEW.slice('v_WO_O').stop)


def parameters_of(name: str, node: str) -> Mapping[str, Any]:
    """Return the parameters of a node in the file of an experiment."""
    sections = yaml.safe_load(find_config(find_experiment(name).params_file).read_text())
    found: Mapping[str, Any] = sections[f'/**/{node}']['ros__parameters']
    return found


class LockstepTrials:
    """The plant and the laws of an experiment, as its nodes have them."""

    def __init__(self, demo: LaboratoryDemo) -> None:
        """Plan and design; takes seconds."""
        given = parameters_of(demo.experiment, 'simulator')
        model = load_model(given['scenario_file'])
        self._demo, self._dt = demo, 1.0 / float(given['rate'])
        self._subject = subject_of(demo.experiment, model)
        self._prepared = self._subject.prepare()
        self._plant = SimulatedHybridPlant(
            model.system,
            model.params,
            model.start,
            planar=given['planar'],
            slip_share=given['slip_share'],
            resistance=given.get('rolling_resistance', 0.0),
            brake_time=given['brake_time'],
            limits=model.control_limits,
        )

    def run(self, law: str, seed: int, off: Offset) -> TrialSeen:
        """Return one trial."""
        plant, subject = self._plant, self._subject
        plant.factors = {'inertia': off.inertia, 'rolling_resistance': off.resistance}
        plant.reset(position=(off.shift, 0.0), rotation=(0.0, off.turn, 0.0))
        plant.release()
        subject.source.restart()
        chosen = chosen_law(self._prepared, law)
        rows: list[np.ndarray] = []
        modes = [(0.0, plant.mode)]
        for k in range(round(self._demo.lengths()[law] / self._dt) + 1):
            t, view = k * self._dt, plant.view()
            if k % EVERY == 0:
                rows.append(view[VIEW.slice('q_WO')].copy())
            x, _ = subject.source.state(view[HAND], view[OBJECT])
            u = chosen.command(t, x, touching=plant.mode != 'separated')
            plant.step(subject.widened(u), self._dt)
            if plant.mode != modes[-1][1]:
                modes.append((t, plant.mode))
        return TrialSeen(
            law=law,
            seed=seed,
            offset=off,
            times=np.array(np.arange(len(rows)) * EVERY * self._dt, dtype=float),
            attitudes=np.array(rows),
            modes=modes,
            complete=not plant.fault,
            reason=plant.fault,
            balancing_since=chosen.balancing_since,
        )
