from .lockstep import ClosedLoop as ClosedLoop
from .lockstep import run_lockstep as run_lockstep
from .lqr_weights import LqrWeights as LqrWeights
from .predictive.law import Horizon as Horizon
from .predictive.law import PredictiveLaw as PredictiveLaw
from .time_varying_lqr import TimeVaryingLqr as TimeVaryingLqr
