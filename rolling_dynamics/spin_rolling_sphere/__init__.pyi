from .system import attitude_from_coordinates as attitude_from_coordinates
from .system import coordinates_from_attitude as coordinates_from_attitude
from .system import frame_angle as frame_angle
from .system import published_angles as published_angles
from .system import SpinRollingSphere as SpinRollingSphere
