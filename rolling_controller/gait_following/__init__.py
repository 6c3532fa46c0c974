"""Following a sequence of gaits: correction at each swing, torque within it, slope estimated."""

from rolling_controller.gait_following.gait_follower import GaitFollower, VelocityStick
from rolling_controller.gait_following.reference_loop import MomentumFilter

__all__ = [
    'GaitFollower',
    'MomentumFilter',
    'VelocityStick',
]
