"""The yaw of a robot that has no front."""

import math

import numpy as np
import pytest
from rolling_dynamics.robots.view import Heading

SLOW = 1e-3


def along(yaw, speed=1.0):
    return speed * np.array([math.cos(yaw), math.sin(yaw)])


def test_it_heads_where_it_travels_and_keeps_that_at_rest():
    heading = Heading(SLOW)
    heading.travel(along(0.7), (0, 0))
    assert heading.yaw == pytest.approx(0.7)
    heading.travel(along(2.0, speed=0.5 * SLOW), (5.0, 5.0))
    assert heading.yaw == pytest.approx(0.7)
    assert heading.rate == 0.0


def test_noise_at_rest_does_not_turn_it_and_a_start_does():
    heading, rng = Heading(SLOW), np.random.default_rng(1)
    heading.restart(along(2.5, speed=2 * SLOW))
    assert heading.yaw == 0.0
    for velocity in rng.normal(scale=0.7 * SLOW, size=(1000, 2)):
        heading.travel(velocity, (0, 0))
    assert heading.yaw == 0.0
    heading.travel(along(1.2, speed=5 * SLOW), (0, 0))
    heading.travel(along(0.8, speed=2 * SLOW), (0, 0))  # still travels
    assert heading.yaw == pytest.approx(0.8)


def test_running_backwards_does_not_turn_it():
    heading = Heading(SLOW)
    heading.travel(along(0.3), (0, 0))
    heading.travel(along(0.3, speed=-1.0), (0, 0))
    assert heading.yaw == pytest.approx(0.3)


def test_three_circles_are_six_pi_and_the_rate_is_the_derivative():
    heading, r, w, dt = Heading(SLOW), 0.5, -2.0, 1e-3
    heading.restart(along(0.0))
    for k in range(1, round(6 * math.pi / abs(w) / dt) + 1):
        yaw = w * k * dt
        heading.travel(r * abs(w) * along(yaw), r * w * abs(w) * along(yaw + math.pi / 2))
        assert heading.rate == pytest.approx(w)
    assert heading.yaw == pytest.approx(-6 * math.pi, abs=1e-2)


def test_it_starts_along_its_first_velocity_even_backwards():
    heading = Heading(SLOW)
    heading.restart(along(3.0))
    assert heading.yaw == pytest.approx(3.0)
    heading.restart((0.0, 0.0))
    assert heading.yaw == 0.0


def test_driven_spin_turns_it():
    heading = Heading(SLOW)
    heading.spin(0.5, 0.2)
    assert (heading.yaw, heading.rate) == (pytest.approx(0.1), 0.5)
