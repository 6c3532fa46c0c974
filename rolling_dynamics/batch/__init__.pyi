from .simulator import BatchSimulator as BatchSimulator
from .simulator import Rollout as Rollout
