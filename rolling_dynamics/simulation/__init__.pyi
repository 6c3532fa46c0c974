from .integrate import simulate as simulate
from .stepper import Stepper as Stepper
from .trajectory import Event as Event
from .trajectory import Trajectory as Trajectory
