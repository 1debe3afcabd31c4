"""Where Q starts, one idea a file."""

from damastes.initializers.adversarial import Adversarial
from damastes.initializers.anchors import Anchors
from damastes.initializers.convex import Convex
from damastes.initializers.icp import ICP
from damastes.initializers.independent import IndependentComponents
from damastes.initializers.random import Random
from damastes.initializers.start import Initializer, Start
from damastes.initializers.through import Through

__all__ = [
    "ICP",
    "Adversarial",
    "Anchors",
    "Convex",
    "IndependentComponents",
    "Initializer",
    "Random",
    "Start",
    "Through",
]
