from .derivatives import Adjoint as Adjoint
from .derivatives import DifferentiableStep as DifferentiableStep
from .derivatives import jax_step as jax_step
from .simulator import BatchSimulator as BatchSimulator
from .simulator import Rollout as Rollout
