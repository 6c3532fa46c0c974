"""State, control and parameters of the sphere with a pendulum."""

from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry

STATE = Layout(
    (
        vector_entry('contact', 'm', 'W', 'contact point on the floor', suffixes='xy'),
        quaternion_entry('q_WS', 'attitude of the shell'),
        quaternion_entry('q_WP', 'attitude of the pendulum, which hangs along -z of its frame'),
        vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the shell'),
        vector_entry('w_WP_W', 'rad/s', 'W', 'angular velocity of the pendulum'),
    ),
    defaults={
        'contact': (0, 0),
        'q_WS': (1, 0, 0, 0),
        'q_WP': (1, 0, 0, 0),
        'w_WS_W': (0, 0, 0),
        'w_WP_W': (0, 0, 0),
    },
)
CONTROL = Layout(
    (vector_entry('tau_W', 'N m', 'W', 'torque on the pendulum, reversed on the shell'),)
)
PARAMETERS = Layout(
    (
        Entry('shell_mass', ('shell_mass',), 'kg', text='M'),
        Entry('shell_inertia', ('shell_inertia',), 'kg m^2', text='I'),
        Entry('shell_radius', ('shell_radius',), 'm', text='R_o'),
        Entry('pendulum_mass', ('pendulum_mass',), 'kg', text='m'),
        Entry('pendulum_length', ('pendulum_length',), 'm', text='R_t'),
        Entry('pendulum_inertia', ('pendulum_inertia',), 'kg m^2', text='i, across the axis'),
        Entry('pendulum_excess', ('pendulum_excess',), 'kg m^2', text='j; i + j along the axis'),
        vector_entry('gravity_W', 'm/s^2', 'W', 'gravity; W is on the floor, z its normal'),
        Entry('mu', ('mu',), '', text='coefficient of static friction'),
        Entry('rolling_resistance', ('rolling_resistance',), 'm', text='lever arm delta'),
        Entry('rolling_damping', ('rolling_damping',), 'N m s', text='torque per rate'),
    )
)
