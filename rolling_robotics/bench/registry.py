"""
The groups of figures.

A group is a function without arguments that yields rows. To add one, write a file of its own and
name it here; it is imported when its turn comes.
"""

GROUPS = {
    'spinning_plate': 'rolling_robotics.bench.spinning_plate:rows',
    'dynamics': 'rolling_robotics.bench.dynamics:rows',
    'plans': 'rolling_robotics.bench.plans:rows',
    'scaling': 'rolling_robotics.bench.scaling:rows',
    'control': 'rolling_robotics.bench.control:rows',
    'memory': 'rolling_robotics.bench.memory:rows',
    'internal_masses': 'rolling_robotics.bench.internal_masses:rows',
    'pendulum_sphere': 'rolling_robotics.bench.pendulum_sphere:rows',
    'path_length': 'rolling_robotics.bench.path_length:rows',
    'spin_rolling': 'rolling_robotics.bench.spin_rolling:rows',
    'viewer': 'rolling_robotics.bench.viewer:rows',
    'laboratory': 'rolling_robotics.bench.laboratory:rows',
}
