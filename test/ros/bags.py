"""What the tests of replay write into recordings."""

from itertools import count

from geometry_msgs.msg import AccelStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rolling_controller.nodes.step_log import RunLog
from rolling_dynamics.fingerprint import fingerprint
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.parameters import FINGERPRINT, FORMAT, NEWEST_FORMAT
from rolling_robotics.recordings.writer import Recording, Topic, typestore_with
from rosbags.serde import SerdeError
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Int64MultiArray
from trajectory_msgs.msg import JointTrajectory

KINDS = (
    RollingPlan,
    ParameterEvent,
    AccelStamped,
    JointState,
    JointTrajectory,
    Float64MultiArray,
    Int64MultiArray,
)
STEPS = {'controller/steps': 'std_msgs/msg/Float64MultiArray'}


def in_force(values):
    """Return parameters as a controller on this machine publishes them."""
    values = {FINGERPRINT: fingerprint(), FORMAT: NEWEST_FORMAT, **values}
    parameters = [
        Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
    ]
    return ParameterEvent(new_parameters=parameters)


PACKAGE = 'rolling_interfaces'


def kind_of(message):
    return f'{type(message).__module__.split(".")[0]}/msg/{type(message).__name__}'


def cdr(message):
    assert isinstance(message, KINDS)
    data, store, kind = serialize_message(message), typestore_with([PACKAGE]), kind_of(message)
    while True:  # on a wire it has its true length; here it may be padded
        try:
            store.deserialize_cdr(data, kind)
        except SerdeError:
            data = data[:-1]
        else:
            return data


def log_into(put, values, settings='execution/settings'):
    """Return what begins the log of a run, with the parameters that are in force then."""
    numbers = count(1)

    def begin(law, about):
        number = next(numbers)
        put(settings, cdr(in_force({**values(), 'run': number, **about})))
        return RunLog(law, number, lambda message: put('controller/steps', cdr(message)))

    return begin


def recording_of(folder, messages):
    """Return a recording of messages by their topics."""
    out = Recording(folder, (PACKAGE,), longest_queue=10_000)
    for topic, sent in messages.items():
        out.add(Topic(f'/{topic}', kind_of(sent[0]), latched=False))
        for k, message in enumerate(sent):
            out.put(f'/{topic}', k + 1, cdr(message))
    out.close()
    assert not out.fault
    return folder
