"""Who is nearest, once both clouds are in one space."""

from damastes.retrieval.cosines import Cosines
from damastes.retrieval.csls import CSLS
from damastes.retrieval.isf import ISF
from damastes.retrieval.nearest import Nearest
from damastes.retrieval.search import Biases, Choices, MutualPairs, Neighbours, Retriever, choose, leads, mutual_pairs

__all__ = [
    "CSLS",
    "ISF",
    "Biases",
    "Choices",
    "Cosines",
    "MutualPairs",
    "Nearest",
    "Neighbours",
    "Retriever",
    "choose",
    "leads",
    "mutual_pairs",
]
