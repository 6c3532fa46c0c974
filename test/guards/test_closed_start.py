"""States in which contacts that close loops are open, press in, or contradict each other."""

import casadi as ca
import pytest
from rolling_dynamics.contract.rolling_system import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Contact,
    Driven,
    Ellipsoid,
    Free,
    Machine,
    MachineSystem,
    Revolute,
    Revolution,
    Solid,
    Sphere,
)
from rolling_dynamics.mechanism.loops import Phases

R, MASS = 0.05, 0.3
SHAPE = Sphere(ca.SX(R))


def free(name):
    return Free(
        position=vector_entry(f'p_{name}', 'm', 'W'),
        attitude=quaternion_entry(f'q_{name}'),
        velocity=vector_entry(f'v_{name}', 'm/s', 'W'),
        speed=vector_entry(f'w_{name}', 'rad/s', name),
        axes='world',
    )


def with_ball():
    machine = Machine('made')
    machine.gravity_W = ca.SX(ca.DM([0, 0, -9.81]))
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * R**2)))
    return machine


@pytest.mark.parametrize(('stiffness', 'refused'), [(None, True), (1e4, False)])
def test_only_a_soft_contact_may_press_in(stiffness, refused):
    machine = with_ball()
    machine.contact(Contact(body='ball', shape=SHAPE, stiffness=stiffness))
    system = MachineSystem(machine)
    system.check_state([], system.state.pack(p_ball=[0, 0, R]))
    pressed = system.state.pack(p_ball=[0, 0, R - 1e-3])
    if not refused:
        system.check_state([], pressed)
        return
    with pytest.raises(
        ParameterError, match=r"contact of 'ball' on 'the ground' .* gap of -0\.001"
    ):
        system.check_state([], pressed)


def test_plates_that_may_move_apart_under_one_ball_are_refused():
    """Both say how the ball moves there, and the controls may say it differently."""
    machine = with_ball()
    for name in ('left', 'right'):
        push = machine.control(Entry(f'push_{name}', (f'push_{name}',), 'm/s^2'))
        machine.body(name, Driven(joint=free(name), rates=ca.vertcat(push, ca.SX(5, 1))))
        machine.contact(Contact(body='ball', shape=SHAPE, on=name))
    system = MachineSystem(machine)
    x = system.state.pack(p_ball=[0, 0, R])
    with pytest.raises(ParameterError, match=r"contact of 'ball' on '(left|right)' is redundant"):
        system.check_state([], x)


def test_plates_that_stand_under_one_ball_are_fine():
    machine = with_ball()
    for _ in range(2):
        machine.contact(Contact(body='ball', shape=SHAPE))
    system = MachineSystem(machine)
    assert system.dependent == 3
    system.check_state([], system.state.pack(p_ball=[0, 0, R]))


def test_a_contact_that_holds_nothing_in_this_state_is_refused():
    """A cam on its axle touches the floor with its lowest side: turned, it would lift itself."""
    machine, low = Machine('cam'), 0.02
    angle, rate = Entry('angle', ('angle',), 'rad'), Entry('rate', ('rate',), 'rad/s')
    axle = Revolute(angle=angle, speed=rate, axis=(0, 1, 0), place=(0, 0, low))
    machine.body('cam', axle, Solid(ca.SX(MASS), ca.SX.eye(3)))
    shape = Ellipsoid(ca.SX([0.05, 0.05, low]))
    machine.contact(Contact(body='cam', shape=shape, mu=0.1, mu_kinetic=0.1))
    system = MachineSystem(machine, Phases(slipping=(0,)))
    assert system.dependent == 0
    with pytest.raises(ParameterError, match='1 rows of contacts that close loops have rank 0'):
        system.check_state([], system.state.pack(rate=1.0))
