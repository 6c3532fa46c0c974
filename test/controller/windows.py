"""When a fault is knowable: what its innovations have to sum to in a window."""

from functools import cache

from rolling_controller.supervisor import threshold
from scipy.optimize import brentq
from scipy.stats import ncx2

POWER = 0.99  # fraction of such faults that are found


@cache
def noncentrality(degrees):
    """Return the sum of squares of a fault that is found with that probability."""
    limit = threshold(degrees)
    return float(brentq(lambda k: ncx2.sf(limit, degrees, k) - POWER, 1e-3, 1e4))
