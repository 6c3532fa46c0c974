"""What systems offer beside the contract, and asking for it."""

from typing import Protocol

import pytest
from rolling_dynamics import ContactSystem, PendulumSphere, Plane, Sphere, SpinRollingSphere
from rolling_dynamics.contract import capabilities, default_weights, envelope, offers
from rolling_dynamics.contract.capabilities import (
    ChangesCharts,
    ChartView,
    Conservation,
    ContactReport,
    DefaultWeights,
    DrivenContacts,
    Envelope,
    GivenFormulas,
    members,
    PlanSeeds,
    Projection,
    RestGoal,
    RigidBodies,
    SmoothMode,
    StartMode,
    StateBounds,
    StateCheck,
)
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.simulation.guards import in_mode

ALL = {
    c
    for c in vars(capabilities).values()
    if isinstance(c, type) and getattr(c, '_is_protocol', False)
    if c.__module__ == capabilities.__name__
} - {capabilities.Atlas}
BALL = ContactSystem(Sphere(0.02), Plane())
MACHINE = {Conservation, ContactReport, DrivenContacts, Envelope, Projection, RestGoal}
MACHINE |= {RigidBodies, SmoothMode, StartMode, StateBounds, StateCheck}
OFFERED = {
    'contact': (BALL, ALL - {GivenFormulas, SmoothMode, StartMode}),
    'point_mass_ball': (
        PointMassBall(),
        MACHINE | {DefaultWeights, GivenFormulas, PlanSeeds},
    ),
    'pendulum_sphere': (
        PendulumSphere(),
        {Envelope, RestGoal, Conservation, RigidBodies, Projection, StateCheck, ContactReport}
        | {DrivenContacts, StateBounds},
    ),
    'spin_rolling_sphere': (SpinRollingSphere(), {StateCheck, DefaultWeights}),
    'hybrid_contact': (
        HybridContactSystem(Sphere(0.02)),
        MACHINE,
    ),
}


@pytest.mark.parametrize('name', OFFERED)
def test_a_system_offers_what_it_has(name):
    system, expected = OFFERED[name]
    assert {c for c in ALL if offers(system, c) is not None} == expected
    assert all(offers(system, c) is system for c in expected)


def test_a_system_of_ones_own_need_not_offer_anything(wheel):
    system = wheel['wheel']
    assert {c for c in ALL if offers(system, c) is not None} == set()
    assert envelope(system) == {}
    assert default_weights(system).tracking == {'s': 1.0, 'v': 1.0}


def test_asking_evaluates_nothing():
    """The chart view of this representation refuses, and other properties take their time."""
    system = ContactSystem(Sphere(0.02), Plane())
    assert offers(system, ChartView) is system
    assert offers(system, Envelope) is system
    assert 'expressions' not in vars(system)


def test_a_view_of_a_system_offers_what_the_system_does():
    view = in_mode(HybridContactSystem(Sphere(0.02)), 'separated')
    assert offers(view, Projection) is view
    assert offers(view, ChangesCharts) is None


def test_a_capability_may_be_anybodys():
    class Painted(Protocol):
        colour: str

        def repaint(self, colour: str) -> None: ...

    class Ball:
        colour = 'red'

        def repaint(self, colour):
            self.colour = colour

    assert sorted(members(Painted)) == ['colour', 'repaint']
    assert offers(Ball(), Painted) is not None
    assert offers(BALL, Painted) is None


@pytest.mark.parametrize('capability', sorted(ALL, key=str))
def test_what_a_capability_means_is_written_down(capability):
    assert capability.__doc__
    assert all(getattr(capability, name).__doc__ for name in members(capability))
