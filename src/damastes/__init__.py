"""Align two embedding spaces when nobody knows which point corresponds to which.

>>> import damastes
>>> en, es = damastes.samples.load("en"), damastes.samples.load("es")
>>> alignment = damastes.align(en, es)
>>> alignment.translate("parliament", k=1)[0][0]
'parlamento'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from damastes import evaluation, initializers, matching, procrustes, retrieval, samples, solvers, transport
    from damastes.alignment import Alignment, align
    from damastes.estimator import WassersteinProcrustes
    from damastes.evaluation import Evaluation, evaluate
    from damastes.frame import Frame
    from damastes.io import load_map, read_lexicon, read_vectors, write_vectors
    from damastes.mapping import Map
    from damastes.matching import match_graphs
    from damastes.recipes import Recipe
    from damastes.vectors import Vectors

__all__ = [
    "Alignment",
    "Evaluation",
    "Frame",
    "Map",
    "Recipe",
    "Vectors",
    "WassersteinProcrustes",
    "align",
    "evaluate",
    "evaluation",
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
    "write_vectors",
]

_HOMES = {
    "Alignment": "alignment",
    "Evaluation": "evaluation",
    "Frame": "frame",
    "Map": "mapping",
    "Recipe": "recipes",
    "Vectors": "vectors",
    "WassersteinProcrustes": "estimator",
    "align": "alignment",
    "evaluate": "evaluation",
    "load_map": "io",
    "match_graphs": "matching",
    "read_lexicon": "io",
    "read_vectors": "io",
    "write_vectors": "io",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line answers before the numerics are loaded."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    value = getattr(module, name) if name in _HOMES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
