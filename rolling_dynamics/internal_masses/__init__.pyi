from .ball import PointMassBall as PointMassBall
from .disk import PointMassDisk as PointMassDisk
from .masses import FreeMass as FreeMass
from .masses import RailMass as RailMass
