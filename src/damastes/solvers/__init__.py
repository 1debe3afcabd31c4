"""How Q improves, one algorithm a file."""

from damastes.solvers.alternating import Alternating
from damastes.solvers.refinement import Refinement
from damastes.solvers.solution import Solution, Solver
from damastes.solvers.stochastic import Phase, Stochastic, authors_schedule, paper_schedule

__all__ = [
    "Alternating",
    "Phase",
    "Refinement",
    "Solution",
    "Solver",
    "Stochastic",
    "authors_schedule",
    "paper_schedule",
]
