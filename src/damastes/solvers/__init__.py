"""How Q improves, one algorithm a file."""

from damastes.solvers.alternating import Alternating
from damastes.solvers.carry import carry
from damastes.solvers.chain import Chain
from damastes.solvers.refinement import Refinement
from damastes.solvers.self_learning import SelfLearning, averaging, fading
from damastes.solvers.solution import Solution, Solver
from damastes.solvers.stochastic import Phase, Stochastic, authors_schedule, paper_schedule
from damastes.solvers.subspace import Subspace

__all__ = [
    "Alternating",
    "Chain",
    "Phase",
    "Refinement",
    "SelfLearning",
    "Solution",
    "Solver",
    "Stochastic",
    "Subspace",
    "authors_schedule",
    "averaging",
    "carry",
    "fading",
    "paper_schedule",
]
