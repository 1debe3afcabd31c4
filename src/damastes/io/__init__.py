"""Files: vectors, lexicons, maps. No mathematics."""

from damastes.io.atomic import atomic_writer
from damastes.io.fasttext import FastTextVectors
from damastes.io.findings import Block
from damastes.io.lexicons import read_lexicon
from damastes.io.maps import load_map, save_map
from damastes.io.vectors import FileInfo, describe, iter_vectors, read_vectors
from damastes.io.writing import VectorsWriter, write_vectors

__all__ = [
    "Block",
    "FastTextVectors",
    "FileInfo",
    "VectorsWriter",
    "atomic_writer",
    "describe",
    "iter_vectors",
    "load_map",
    "read_lexicon",
    "read_vectors",
    "save_map",
    "write_vectors",
]
