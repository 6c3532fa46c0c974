from .ball import PointMassBall as PointMassBall
from .ball import PointMassDisk as PointMassDisk
from .masses import FreeMass as FreeMass
from .masses import RailMass as RailMass
