"""How good is a finished alignment? Only this room sees lexicons."""

from damastes.evaluation.precision import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
