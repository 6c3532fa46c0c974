"""Experiments with an object on a hand: a ball on a plate, and the laboratory's."""

from __future__ import annotations

from dataclasses import replace

from rolling_robotics.experiments import (
    CONTROLLER,
    EXECUTED,
    Experiment,
    HAND_AND_OBJECT,
    NodeEntry,
    PLAN_DEMO,
    PLANNER,
    SIMULATOR,
)
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED

HYBRID_SIMULATOR = replace(SIMULATOR, parameters={'motion': 'all_modes'})
EMULATED_ARM = replace(SIMULATOR, name='emulated_motors', parameters={'motion': 'on_arm'})


INTERFACE = tuple(
    NodeEntry(name=name, module=f'rolling_hw_interface.nodes.{name}_node')
    for name in ('motor_bridge', 'vision_bridge', 'estimator')
)


HARDWARE_TOPICS = (
    'robot_joint_command',
    'robot_joint_states',
    'joint_states',
    'contact/ground_truth',
    'camera/markers',
    'vision/object_pose',
    'robot_description',
    'estimator/steps',
    'estimator/settings',
)


def _in_laboratory(name: str, text: str, scenario_file: str, *laws: str) -> Experiment:
    """Return an experiment of the laboratory, with the laws of its feedback if it has several."""
    simulated = (HYBRID_SIMULATOR, CONTROLLER)
    measured = {'noisy_states': True}
    limited = {**measured, 'finite_limits': True}
    return Experiment(
        name=name,
        text=text,
        nodes=simulated,
        hardware={
            SIMULATED: simulated,
            EMULATED: (EMULATED_ARM, *INTERFACE, replace(CONTROLLER, parameters=measured)),
            REAL: (*INTERFACE, replace(CONTROLLER, parameters=limited)),
        },
        scenario_file=scenario_file,
        recorded=(
            *HAND_AND_OBJECT,
            'controller/steps',
            'controller/settings',
            *(('predicted_path',) if 'predictive' in laws else ()),
            'simulator/surfaces',
            'simulator/markers',
            *HARDWARE_TOPICS,
            '/tf',
            '/diagnostics',
        ),
        laws=laws,
        demo=f'rolling_robotics.demo.laboratory:{name.upper()}',
    )


def _planned(name: str, text: str, scenario_file: str, **start: object) -> Experiment:
    """Return the experiment of an object that rolls along a plan."""
    return Experiment(
        name=name,
        text=text,
        nodes=(SIMULATOR, PLANNER, CONTROLLER),
        scenario_file=scenario_file,
        recorded=(
            *HAND_AND_OBJECT,
            *EXECUTED,
            'plan/hand',
            'plan/object',
            'plan/object_path',
            'predicted_path',
            '/tf',
            '/diagnostics',
        ),
        laws=('lqr', 'predictive'),
        demo=PLAN_DEMO,
        start={'pace': 1.0, **start},
    )


EXPERIMENTS = (
    _planned(
        'ball_on_plate',
        'A ball on a plate is moved and turned by tilting the plate.',
        'ball_on_plate_hard.yaml',
        position=(0.003, 0.0),
        rotation=(0.05, 0.0, 0.0),
    ),
    _planned(
        'butterfly',
        'A ball rolls round the rim of a plate that turns, from one side to the other.',
        'butterfly_plate.yaml',
        position=(0.002, 0.0),
    ),
    _in_laboratory(
        'damping',
        'A hand damps the rocking of an ellipse that lies on its plate.',
        'laboratory_damping.yaml',
    ),
    _in_laboratory(
        'flip_up',
        'An ellipse that lies flat is rolled upright and balanced there.',
        'laboratory_flip_up.yaml',
        'closed_loop',
        'predictive',
    ),
    _in_laboratory(
        'throw_catch',
        'An ellipse is thrown, turns over in flight, is caught and balanced.',
        'laboratory_throw_catch.yaml',
    ),
    _in_laboratory(
        'balance_3d',
        'An ellipsoid that leans is balanced on its end in space.',
        'balance_ellipsoid.yaml',
    ),
)
