"""Quadratic matching: the convex relaxation, its Frank–Wolfe loop, its certificate, and graph matching."""

from damastes.matching.certificate import Certificate, certify
from damastes.matching.frank_wolfe import FrankWolfe, Relaxation, line_search, open_loop
from damastes.matching.graphs import GraphMatching, match_graphs
from damastes.matching.objectives import Agreement, DenseDiscrepancy, FactoredDiscrepancy, Objective
from damastes.matching.signatures import row_quantiles, signature_cost

__all__ = [
    "Agreement",
    "Certificate",
    "DenseDiscrepancy",
    "FactoredDiscrepancy",
    "FrankWolfe",
    "GraphMatching",
    "Objective",
    "Relaxation",
    "certify",
    "line_search",
    "match_graphs",
    "open_loop",
    "row_quantiles",
    "signature_cost",
]
