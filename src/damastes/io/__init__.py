"""Files: vectors, lexicons, maps. No mathematics."""

from damastes.io.lexicons import read_lexicon
from damastes.io.maps import load_map, save_map
from damastes.io.vectors import read_vectors

__all__ = ["load_map", "read_lexicon", "read_vectors", "save_map"]
