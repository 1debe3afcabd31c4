"""How good is a finished alignment? Only this room sees lexicons."""

from damastes.evaluation.precision import Band, Evaluation, evaluate
from damastes.evaluation.sentences import SentenceRetrieval, retrieve_sentences
from damastes.evaluation.similarity import Similarity, word_similarity

__all__ = [
    "Band",
    "Evaluation",
    "SentenceRetrieval",
    "Similarity",
    "evaluate",
    "retrieve_sentences",
    "word_similarity",
]
