"""Did it work? Label-free evidence about a map, and a decision.

Every map that self-learning returns fits the points it was learned from, also a wrong one. What tells a right map is that it
holds where it was not fitted, and better than maps that are wrong on these very clouds:

* halves: from Q, mutual CSLS neighbours ↔ Procrustes on one half of the source, then a look at the other half, both ways;
* closeness: how near the mapped held-out points are to their answers;
* two views: the directions of the space are split at random in two halves. Does the answer of a held-out point in one view
  come out of the other view as well, and mutually? By chance it hardly ever does;
* wrong maps: Q with random signs on the principal directions keeps the second moments of both clouds and destroys everything
  else. Climbed and looked at in the same way, such maps say what closeness and agreement are worth for this number of points,
  dimension and noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import numpy as np

from damastes._arrays import (
    Array,
    NumpyArray,
    Progress,
    cast_like,
    check_weights,
    from_numpy,
    head_rows,
    namespace,
    no_progress,
    take_rows,
    to_numpy,
    unit_rows,
)
from damastes.procrustes import polar
from damastes.retrieval import CSLS, mutual_pairs
from damastes.spectrum import Spectrum

__all__ = ["Verdict", "judge"]

# With fewer points or directions than these nothing can be held out.
_MIN_POINTS = 20
_MIN_DIMENSION = 4
# Poorly determined directions only let halves overfit, so the look is at no more than these, and a third of the points.
_MAX_DIMENSION = 100
# Rounds of self-learning: enough to bring a rough map home; a wrong map starts lower and gets more.
_ROUNDS = 4
_WRONG_ROUNDS = 6
# Random splits of the directions in two views.
_VIEWS = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """ "aligned", "uncertain" or "failed", a score in [0, 1], and the numbers behind it."""

    label: str
    score: float
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.label} (score {self.score:.2f}): {_in_words(self.evidence)}"

    def to_json(self) -> dict[str, Any]:
        """Return what a JSON file can hold."""
        return {"label": self.label, "score": self.score, "evidence": dict(self.evidence)}


def judge(
    X: Array,
    Y: Array,
    Q: Array,
    *,
    rng: np.random.Generator,
    n_points: int = 1000,
    progress: Progress = no_progress,
) -> Verdict:
    """Say whether Q aligns two framed clouds, from the clouds alone.

    Judges the basin of Q rather than its last digits: a rough map is climbed for a few rounds before it is judged. Not whether
    every point has a partner either: two samples of one space without a common point can be aligned.

    Parameters
    ----------
    X, Y : framed clouds (n, d_x) and (m, d_y), rows in order of importance or in random order
    Q : map (d_x, d_y)
    rng : source of the halves, views and wrong maps
    n_points : look at the first so many source points, among twice as many targets

    Notes
    -----
    About 40 sweeps over n_points²  pairs in at most 100 directions: a second or two, whatever the size of the clouds.
    """
    head_x, head_y = head_rows(X, n_points), head_rows(Y, 2 * n_points)
    fewest = min(head_x.shape[0], head_y.shape[0])
    dimension = min(_MAX_DIMENSION, *Q.shape, max(fewest // 3, _MIN_DIMENSION))
    evidence: dict[str, Any] = {"n_points": head_x.shape[0], "dimension": dimension}
    if fewest < _MIN_POINTS or dimension < _MIN_DIMENSION:
        return Verdict("uncertain", 0.5, evidence)
    A, B = _shared_space(head_x, head_y, Q, dimension)
    halves = np.array_split(rng.permutation(A.shape[0]), 2)
    views = [np.linalg.qr(rng.standard_normal((dimension, dimension)))[0] for _ in range(_VIEWS)]
    both_ways = ((halves[0], halves[1]), (halves[1], halves[0]))
    looks: list[list[tuple[float, float]]] = [[], []]
    for step, (fitted, held_out) in enumerate(both_ways):
        for wrong in (False, True):
            signs = rng.choice([-1.0, 1.0], dimension) if wrong else np.ones(dimension)
            rounds = _WRONG_ROUNDS if wrong else _ROUNDS
            start = from_numpy(np.diag(signs), A)
            climbed = _climbed(take_rows(A, fitted), B, start, rounds)
            looks[wrong].append(_look(take_rows(A, held_out) @ climbed, B, views))
            progress("verdict", 2 * step + wrong + 1, 4, {})
    (closeness, agreement), (wrong_closeness, wrong_agreement) = (np.mean(found, axis=0).tolist() for found in looks)
    evidence |= {
        "closeness": closeness,
        "closeness_of_wrong_maps": wrong_closeness,
        "agreement": agreement,
        "agreement_of_wrong_maps": wrong_agreement,
    }
    score = _score(evidence)
    return Verdict("aligned" if score >= _ALIGNED else "failed" if score < _FAILED else "uncertain", score, evidence)


def _shared_space(X: Array, Y: Array, Q: Array, dimension: int) -> tuple[Array, Array]:
    """XQ and Y in the leading principal directions of the two together, where the map is the identity."""
    xp = namespace(X)
    mapped = X @ Q
    weights = np.concatenate([np.full(Z.shape[0], 0.5 / Z.shape[0]) for Z in (mapped, Y)])
    both = xp.concat([mapped, Y])
    leading = Spectrum.of(both, check_weights(weights, both.shape[0], "weights", both)).vectors[:, -dimension:]
    leading = cast_like(leading, mapped)
    return unit_rows(mapped @ leading), unit_rows(Y @ leading)


def _climbed(A: Array, B: Array, Q: Array, rounds: int) -> Array:
    """Mutual CSLS neighbours ↔ Procrustes."""
    for _ in range(rounds):
        found = mutual_pairs(A @ Q, B, CSLS().biases(A @ Q, B))
        if len(found) == 0:
            break
        Q = polar(take_rows(A, found.source).T @ take_rows(B, found.target))
    return Q


def _look(mapped: Array, B: Array, views: list[NumpyArray]) -> tuple[float, float]:
    """Mean cosine of mapped points with their CSLS answers, and the share with one mutual answer in both of two views."""
    bias = CSLS().biases(mapped, B)
    found = CSLS()(mapped, B, biases=bias)
    answers = found.indices[:, 0]
    cosines = (found.scores[:, 0] + to_numpy(bias.rows) + to_numpy(bias.columns)[answers]) / 2
    agreeing = 0
    for turn in views:
        half = turn.shape[1] // 2
        answers_of = []
        for part in (turn[:, :half], turn[:, half:]):
            seen_x, seen_y = mapped @ from_numpy(part, mapped), B @ from_numpy(part, B)
            pairs = mutual_pairs(seen_x, seen_y, CSLS().biases(seen_x, seen_y))
            answers_of.append(set(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)))
        agreeing += len(answers_of[0] & answers_of[1])
    return float(cosines.mean()), agreeing / (len(views) * mapped.shape[0])


# --- the decision -------------------------------------------------------------------------------------------------------

_ALIGNED = 0.7
_FAILED = 0.3
_BIAS, _GAIN, _LIFT = -5.0, 40.0, 1.0


def _score(evidence: Mapping[str, Any]) -> float:
    """Logistic regression on the two comparisons, calibrated in benchmarks/verdict.py."""
    strength = _BIAS + _GAIN * _gain(evidence) + _LIFT * _lift(evidence)
    return 1 / (1 + exp(-max(min(strength, 30.0), -30.0)))


def _gain(evidence: Mapping[str, Any]) -> float:
    """How much of the way from wrong maps to cosine 1."""
    wrong = evidence["closeness_of_wrong_maps"]
    return float(evidence["closeness"] - wrong) / max(1 - wrong, 1e-6)


def _lift(evidence: Mapping[str, Any]) -> float:
    """How many times (log) more often the views agree than for wrong maps; a few agreements are always to be expected."""
    few = 2 / evidence["n_points"]
    return log((evidence["agreement"] + few) / (evidence["agreement_of_wrong_maps"] + few))


def _in_words(evidence: Mapping[str, Any]) -> str:
    if "closeness" not in evidence:
        return (
            f"too few points or directions to tell ({evidence['n_points']} points, {evidence['dimension']} directions)"
        )
    return (
        f"held-out points come within cosine {evidence['closeness']:.2f} of their answers (wrong maps here: "
        f"{evidence['closeness_of_wrong_maps']:.2f}), and {100 * evidence['agreement']:.1f} % get the same mutual answer from "
        f"either half of the directions (wrong maps: {100 * evidence['agreement_of_wrong_maps']:.1f} %)"
    )
