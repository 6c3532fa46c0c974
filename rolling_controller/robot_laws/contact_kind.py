"""Laws that a user may choose for an object on a hand."""

from __future__ import annotations

from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.time_varying_lqr import weight_options
from rolling_dynamics.contact.representation import ATTITUDE, CONTACT_WEIGHTS

CONTACT_OPTIONS = weight_options(CONTACT_WEIGHTS, ATTITUDE)
KIND = RobotKind(options=CONTACT_OPTIONS)
