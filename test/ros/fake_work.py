"""Stands in for the planner inside a worker process."""

import os
import signal
import sys
import time

from rolling_dynamics.errors import CancelledError, PlanningError

FAILURES = {
    'hopeless': PlanningError('normal_force cannot be met; ask for a longer horizon'),
    'broken': ZeroDivisionError('oops'),
}


def work(job, report):
    kind = job['kind']
    if kind == 'steps':
        for k in range(job['n']):
            time.sleep(job['pause'])
            if not report({'iteration': k}):
                raise CancelledError('asked to stop')
        return {'value': job['n'], 'pid': os.getpid()}
    if kind in ('slow', 'deaf'):
        signals = {signal.SIGUSR1} if kind == 'deaf' else ()
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        report({})
        time.sleep(30.0)
    if kind in FAILURES:
        raise FAILURES[kind]
    if kind == 'crash':
        os._exit(7)
    if kind == 'modules':
        return {'ros': sorted(m for m in sys.modules if m.split('.')[0] in ('rclpy', 'rosidl'))}
    if kind == 'interrupted':
        os.kill(os.getpid(), 2)
        return {'value': 'alive'}
    raise AssertionError(kind)


def plan_work(job, report):
    """Plan in place of the planner; the horizon chooses what happens."""
    import numpy as np
    from rolling_planner import Plan
    from rolling_planner.progress import InfeasibleError

    horizon = job['horizon']
    if horizon == 2.0:
        return work({'kind': 'steps', 'n': 10_000, 'pause': 0.005}, report)
    if horizon == 3.0:
        raise InfeasibleError('normal_force cannot be met; ask for a longer horizon')
    if horizon == 4.0:
        os._exit(7)
    if horizon == 5.0:
        raise ZeroDivisionError('oops')
    if horizon == 6.0:
        return work({'kind': 'deaf'}, report)
    report({'iteration': 1, 'segments': 1, 'cost': 0.5, 'violation': 0.0, 'goal_error': 0.1})
    start = np.asarray(job['start'])
    return {
        'plan': Plan(
            system='contact',
            model_hash='',
            state_names=tuple(f's{k}' for k in range(start.size)),
            control_names=tuple('abcdef'),
            times=np.array([0.0, horizon]),
            states=np.array([start, start]),
            controls=np.zeros((2, 6)),
        )
    }
