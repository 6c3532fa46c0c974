"""The regulated pure pursuit of Nav2, and a path for it."""

import numpy as np

ALONG = np.linspace(0.0, 1.5, 151)[:, None]
PATH = np.vstack([ALONG * [1.0, 0.0], [1.5, 0.0] + ALONG[1:] * [0.8, 0.6]])  # m, with a bend


def pursuit(follow, path, place, yaw):
    """
    Return forward velocity and turning rate, as the regulated pure pursuit of Nav2 has them.

    Macenski et al., 2023: the arc to the point of the path at the distance of lookahead; slower on
    tight arcs, and near the end.
    """
    nearest = int(np.argmin(np.linalg.norm(path - place, axis=1)))
    ahead = path[nearest:]
    far = np.linalg.norm(ahead - place, axis=1) >= follow['lookahead_dist']
    d = (ahead[int(np.argmax(far))] if far.any() else ahead[-1]) - place
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = c * d[0] + s * d[1], c * d[1] - s * d[0]
    curvature = 2 * y / max(x * x + y * y, 1e-6)
    speed = follow['desired_linear_vel']
    radius, tightest = 1 / max(abs(curvature), 1e-9), follow['regulated_linear_scaling_min_radius']
    if radius < tightest:
        speed *= 1 - (tightest - radius) / tightest
        speed = max(speed, follow['regulated_linear_scaling_min_speed'])
    left = np.linalg.norm(path[-1] - place)
    if left < follow['approach_velocity_scaling_dist']:
        slow = follow['desired_linear_vel'] * left / follow['approach_velocity_scaling_dist']
        speed = min(speed, max(slow, follow['min_approach_linear_velocity']))
    return speed, speed * curvature
