"""Align two embedding spaces when nobody knows which point corresponds to which."""

from damastes import initializers, matching, procrustes, retrieval, samples, solvers, transport
from damastes.alignment import Alignment, align
from damastes.frame import Frame
from damastes.io import load_map, read_lexicon, read_vectors
from damastes.mapping import Map
from damastes.matching import match_graphs
from damastes.recipes import Recipe
from damastes.vectors import Vectors

__all__ = [
    "Alignment",
    "Frame",
    "Map",
    "Recipe",
    "Vectors",
    "align",
    "initializers",
    "load_map",
    "match_graphs",
    "matching",
    "procrustes",
    "read_lexicon",
    "read_vectors",
    "retrieval",
    "samples",
    "solvers",
    "transport",
]
