"""Following a sequence of gaits: correction at each swing, torque within it, slope estimated."""

from rolling_controller.gait_following.gait_follower import GaitFollower
from rolling_controller.gait_following.reference_loop import MomentumFilter
from rolling_controller.gait_following.velocity_stick import VelocityStick

__all__ = [
    'GaitFollower',
    'MomentumFilter',
    'VelocityStick',
]
