"""
The groups of figures.

A group is a function without arguments that yields rows. To add one, write a file of its own and
name it here; it is imported when its turn comes.
"""

GROUPS = {
    'first_minute': 'benchmarks.first_minute:rows',
    'spinning_plate': 'benchmarks.spinning_plate:rows',
    'dynamics': 'benchmarks.dynamics:rows',
    'batch': 'benchmarks.batch:rows',
    'plans': 'benchmarks.plans:rows',
    'scaling': 'benchmarks.scaling:rows',
    'control': 'benchmarks.control:rows',
    'predictive': 'benchmarks.predictive:rows',
    'moved_goals': 'benchmarks.moved_goals:rows',
    'predictive_systems': 'benchmarks.predictive_systems:rows',
    'predictive_flights': 'benchmarks.predictive_flights:rows',
    'butterfly': 'benchmarks.butterfly:rows',
    'balance_arm': 'benchmarks.balance_arm:rows',
    'memory': 'benchmarks.memory:rows',
    'internal_masses': 'benchmarks.internal_masses:rows',
    'pendulum_sphere': 'benchmarks.pendulum_sphere:rows',
    'ball_balancer': 'benchmarks.ball_balancer:rows',
    'labyrinth': 'benchmarks.labyrinth:rows',
    'cortex_m': 'benchmarks.cortex_m:rows',
    'path_length': 'benchmarks.path_length:rows',
    'spin_rolling': 'benchmarks.spin_rolling:rows',
    'viewer': 'benchmarks.viewer:rows',
    'laboratory': 'benchmarks.laboratory:rows',
    'flip_ups': 'benchmarks.flip_ups:rows',
}
