"""The array type of the planner."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
