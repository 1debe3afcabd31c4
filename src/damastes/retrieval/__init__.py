"""Who is nearest, once both clouds are in one space."""

from damastes.retrieval.csls import CSLS
from damastes.retrieval.isf import ISF
from damastes.retrieval.nearest import Nearest
from damastes.retrieval.search import Biases, MutualPairs, Neighbours, Retriever, mutual_pairs

__all__ = ["CSLS", "ISF", "Biases", "MutualPairs", "Nearest", "Neighbours", "Retriever", "mutual_pairs"]
