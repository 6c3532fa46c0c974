"""One trial of an experiment on the emulated hardware, and many over seeds."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
import multiprocessing
import os
from typing import Any, NamedTuple

import numpy as np
from rolling_controller import law as inputs
from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.emulated_object import Observation as Truth
from rolling_planner.laboratory.laboratory import turn_about_y
from rolling_robotics.arrays import Series
from rolling_robotics.trials.chain import HardwareInterface, Observation, PERIOD
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import ANGLE, build, Judge, LaboratorySetup
from rolling_robotics.trials.trial import Record

OTHERS = ('estimate', 'control', 'hand', 'object')
EVERY = 10  # periods between two samples that are kept


class Moment(NamedTuple):
    """
    One period of a trial.

    Attributes
    ----------
    time
        At its start, from the release of the object on [s].
    held
        Whether the object is held.
    view, truth, plant
        What was true then: of all, of rolling in the plane, shape (11,), and of the
        hybrid plant.
    seen
        What the estimator reported then, shape (11,), or None.
    sent
        The command that answered it, shape (3,), or None.
    control
        Accelerations that the hand had in the period, shape (3,).
    events
        What happened to the contact in it.
    angle
        Turn of the object in the world at its end [rad].
    clipped
        Periods so far in which a limit of the joints changed a command.

    """

    time: float
    held: bool
    view: Truth
    truth: Array
    plant: Array
    seen: Array | None
    sent: Array | None
    control: Array
    events: tuple[str, ...]
    angle: float
    clipped: int


def moments(
    experiment: LaboratorySetup,
    law_name: str,
    seed: int,
    imperfections: Imperfections,
    judge: Judge | None = None,
    *,
    exact: bool = False,
    to_the_end: bool = False,
) -> list[Moment]:
    """
    Return the periods of a trial, the warm-up first; arguments as of :func:`run_trial`.

    A trial that is judged ends where it fails, unless ``to_the_end``. Where ``exact``, the law is
    given the true state and inertia in place of the estimate.
    """
    law = experiment.laws[law_name]()

    def motion() -> Generator[tuple[float, Array], Array, list[Moment]]:
        place = experiment.laboratory, experiment.start
        chain = HardwareInterface(*place, imperfections, seed, experiment.arm)
        model, truth, out = experiment.laboratory.model()[0], chain.truth, []
        machine, first = chain.machine.emulation, -round(imperfections.warm_up / PERIOD)
        for k in range(first, round(experiment.duration / PERIOD)):
            t, held, view, plant = k * PERIOD, k < 0, chain.view, machine.state.x
            machine.held = held
            seen, sent = chain.sense(), None
            if exact:
                seen = Observation(truth, touching=True, inertia=chain.draw.inertia)
            if held:
                sent = np.zeros(3)
            elif seen is not None:
                signals = {
                    inputs.STATE: seen.x,
                    inputs.MODE: np.array([float(seen.touching)]),
                    'inertia': np.array([seen.inertia]),
                }
                sent = yield t, inputs.gathered(law.inputs, signals)
            chain.act(sent)
            before, truth = truth, chain.truth
            now = Moment(
                time=t,
                held=held,
                view=view,
                truth=before,
                plant=plant,
                seen=None if seen is None else seen.x,
                sent=sent,
                control=machine.u,
                events=chain.machine.events,
                angle=float(turn_about_y(model, truth)),
                clipped=chain.bridge.clipped,
            )
            out.append(now)
            if judge is not None and not held:
                judge.happened(t + PERIOD, *now.events)
                judge.look(t + PERIOD, now.angle)
                if judge.failure and not to_the_end:
                    return out
        if judge is not None:
            judge.close()
        return out

    return inputs.answered(law, motion())[0]


def run_trial(
    experiment: LaboratorySetup,
    law_name: str,
    seed: int,
    imperfections: Imperfections | None = None,
    *,
    to_the_end: bool = False,
    duration: float | None = None,
) -> Record:
    """
    Run one trial.

    Parameters
    ----------
    experiment, law_name
        What is done, and in which way.
    seed
        Of the imperfections.
    imperfections
        Their sizes; those published if None.
    to_the_end
        Whether a trial goes on after it has failed.
    duration
        Of the trial [s]; that of the experiment if None.

    Returns
    -------
    Record
        Every 10 ms from the release of the object on: the true turn ``angle`` of the object, true
        and estimated ``state`` and ``estimate`` of planar rolling, commands ``control``, poses
        ``hand`` and ``object`` in the world, q (w, x, y, z) and p [m]; no numbers where there was
        no estimate. ``ended`` is why it failed; the value ``limited`` is the number of periods in
        which a limit of the joints changed a command.

    """
    imperfections = imperfections or Imperfections()
    experiment = replace(experiment, duration=duration or experiment.duration)
    model, samples, events = experiment.laboratory.model()[0], [], []
    nothing, judge = np.full(model.state.size, np.nan), Judge(experiment)
    given, limited = (experiment, law_name, seed, imperfections), 0
    for moment in moments(*given, judge, to_the_end=to_the_end):
        if moment.held:
            continue
        if round(moment.time / PERIOD) % EVERY == 0:
            seen = nothing if moment.seen is None else moment.seen
            sent = np.full(3, np.nan) if moment.sent is None else moment.sent
            poses = moment.view.hand[:7], moment.view.object_[:7]
            samples.append((moment.time, moment.truth, seen, sent, *poses))
        limited = moment.clipped
        events += [(moment.time, name) for name in moment.events]
    times, states, *others = (np.array(c) for c in zip(*samples, strict=True))
    angle = Series(np.unwrap(turn_about_y(model, states)), 'rad', components=(ANGLE,))
    return Record(
        law=law_name,
        seed=seed,
        times=times,
        arrays={
            ANGLE: angle,
            'state': Series(states, ''),
            **{name: Series(values, '') for name, values in zip(OTHERS, others, strict=True)},
        },
        events=tuple(events),
        end=experiment.duration,
        ended=judge.failure,
        values={'limited': limited},
    )


def run_many(
    name: str,
    laws: Iterable[str],
    seeds: Iterable[int],
    imperfections: Imperfections | None = None,
    *,
    to_the_end: bool = False,
    duration: float | None = None,
    workers: int | None = None,
) -> Iterator[Record]:
    """
    Run trials, in as many processes as there are processors.

    Parameters
    ----------
    name, laws
        Which experiment, and in which ways; see :func:`build`.
    seeds
        Of the trials of each law.
    imperfections, to_the_end, duration
        As of :func:`run_trial`.
    workers
        Number of processes; 1 runs everything in this one.

    Yields
    ------
    Record
        Law by law, in the order of the seeds.

    """
    workers = workers or len(os.sched_getaffinity(0))
    imperfections, seeds = imperfections or Imperfections(), tuple(seeds)
    options = {'to_the_end': to_the_end, 'duration': duration}
    jobs = [(law, seed, imperfections, options) for law in laws for seed in seeds]
    if workers == 1:
        _begin(name)
        yield from map(_one, jobs)
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context('spawn'), initializer=_begin, initargs=(name,)
    )
    try:
        yield from pool.map(_one, jobs)
    finally:  # whoever wants no more trials does not wait for those that have not started
        pool.shutdown(cancel_futures=True)


_built: dict[str, LaboratorySetup] = {}  # of this process


def _begin(name: str) -> None:
    if name not in _built:
        _built.clear()
        _built[name] = build(name)


def _one(job: tuple[str, int, Imperfections, dict[str, Any]]) -> Record:
    (experiment,) = _built.values()
    law, seed, imperfections, options = job
    return run_trial(experiment, law, seed, imperfections, **options)
