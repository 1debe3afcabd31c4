"""The P-step: who goes with whom, given the map."""

from damastes.transport.assignment import Assignment
from damastes.transport.coupling import Coupler, Coupling, EntropicCoupling, SparseCoupling
from damastes.transport.sinkhorn import Sinkhorn
from damastes.transport.wasserstein import WassersteinDistance, transport_cost, wasserstein

__all__ = [
    "Assignment",
    "Coupler",
    "Coupling",
    "EntropicCoupling",
    "Sinkhorn",
    "SparseCoupling",
    "WassersteinDistance",
    "transport_cost",
    "wasserstein",
]
