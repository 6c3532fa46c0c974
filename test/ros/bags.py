"""What the tests of replay write into recordings."""

from geometry_msgs.msg import AccelStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rolling_dynamics.fingerprint import fingerprint
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.recordings.writer import typestore_with
from rosbags.serde import SerdeError
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

KINDS = RollingPlan, ParameterEvent, AccelStamped, JointState, JointTrajectory


def in_force(values):
    """Return parameters as a controller on this machine publishes them."""
    values = {FINGERPRINT: fingerprint(), **values}
    parameters = [
        Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
    ]
    return ParameterEvent(new_parameters=parameters)


def cdr(message):
    assert isinstance(message, KINDS)
    data, store = serialize_message(message), typestore_with(['rolling_interfaces'])
    kind = f'{type(message).__module__.split(".")[0]}/msg/{type(message).__name__}'
    while True:  # on a wire it has its true length; here it may be padded
        try:
            store.deserialize_cdr(data, kind)
        except SerdeError:
            data = data[:-1]
        else:
            return data
