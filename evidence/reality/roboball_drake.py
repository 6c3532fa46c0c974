"""
RoboBall II let go on the floor, in the authors' hydroelastic model in Drake, tuned by them.

Their own code builds plant and friction; it lies beside the log, and runs in a process of its own.
Drake is not in the requirements: its wheel brings a library under a commercial licence along.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
import contextlib
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
import os
from pathlib import Path
import sys

from evidence.reality.row import fetched
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError

_CODE = (  # what is executed, and the model
    'utilities/world_features.py',
    'roboball_plant/create_ball_plant.py',
    'roboball_plant/joint_modifiers.py',
    'roboball_plant/ballParams.py',
    'roboball_plant/RoboBall_URDF/package.xml',
    'roboball_plant/RoboBall_URDF/urdf/RoboBall_URDF.urdf',
)
_DIGESTS = (
    '5a1d9fb5f077863c70f0deef32c82c4b80f3b1bdb064c8bd9471900656cc43cb',
    '69c3e9b96b0503b6d7ab7763d1dd56e8b15d0a89b8b453d811d57d40b8d7d9c7',
    'c3e546db129c0ad5830024e6513ea73ecc9d54aacd4dfad7e7db35c1cc078efe',
    'a2c9cba13c89150597a435abca9d746aa61d5807edd709023d4c43e13887a6b7',
    'cfb503773c7af3e4655b103b78071c2a84e280f4c9475620e5f1813f3386cb5b',
    'e24032a65d7c456b790771eaaab92ff208c52d81751a334c64e37f69bfb376e7',
)
SHA256 = dict(zip(_CODE, _DIGESTS, strict=True))
# As run_compare_steer_models.py has it.
HEIGHT = 0.304  # m, of the sphere at the start
FRICTION = (0.5, 0.8, 0.23)  # of the joint: static and dry [N m], viscous [N m s]
SHELL = (1.2e5, 0.65)  # modulus [Pa] and dissipation [s/m]
RATE = 'RoboBall_URDF_steer_w'


def motion(data: Path, repository: str, start: tuple[float, float], end: float) -> Array | None:
    """
    Return times [s] and angles of the sphere [rad], shape (2, k); None without Drake or the code.

    Raises
    ------
    ParameterError
        The code is not the one whose checksums are known, or it fails with this version of Drake.

    """
    if find_spec('pydrake') is None or fetched(data, repository, SHA256) is None:
        return None
    with ProcessPoolExecutor(1, get_context('spawn')) as apart:
        try:
            return apart.submit(_simulated, data.resolve() / repository, *start, end).result()
        except Exception as e:  # noqa: BLE001
            raise ParameterError(f'{repository}: {e!r}') from None


def _simulated(code: Path, sphere: float, pendulum: float, end: float) -> Array:
    os.chdir(code)
    sys.path.insert(0, str(code))
    drake, world = import_module('pydrake.all'), import_module('utilities.world_features')
    plants = import_module('roboball_plant.create_ball_plant')
    joints = import_module('roboball_plant.joint_modifiers')
    builder, scene = drake.DiagramBuilder(), drake.SceneGraphConfig()
    scene.default_proximity_properties.compliance_type = 'compliant'
    config = drake.MultibodyPlantConfig(
        time_step=0.001,
        penetration_allowance=0.001,
        contact_surface_representation='polygon',
        contact_model='hydroelastic',
    )
    plant, scene_graph = drake.AddMultibodyPlant(config, scene, builder)
    with contextlib.redirect_stdout(sys.stderr):
        world.add_plate(plant, 0.0, visible=False)
        plants.add_RoboBall_plant(plant, place_in_stand='steer')
        plants.update_bedliner_properties(scene_graph, SHELL)
    log = drake.LogVectorOutput(plant.get_state_output_port(), builder)
    friction = builder.AddSystem(joints.StictionModel(list(FRICTION)))
    parts = builder.AddSystem(drake.Demultiplexer(plant.num_multibody_states()))
    rate = parts.get_output_port(plant.GetStateNames().index(RATE))
    builder.Connect(plant.get_state_output_port(), parts.get_input_port())
    builder.Connect(rate, friction.velocity_input_port)
    builder.Connect(friction.torque_output_port, plant.get_actuation_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    place = diagram.GetMutableSubsystemContext(plant, context)
    plant.SetPositions(place, [0.0, HEIGHT, sphere, pendulum])
    simulator = drake.Simulator(diagram, context)
    simulator.AdvanceTo(end)
    states = log.FindLog(simulator.get_context())
    return np.array([states.sample_times(), states.data()[2]])
