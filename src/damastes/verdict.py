"""Did it work? Label-free evidence about a map, and a decision.

Every map that self-learning returns fits the points it was learned from, also a wrong one. What tells a right map is that it
holds where it was not fitted, and better than maps that are wrong on these very clouds:

* halves: from Q, mutual CSLS neighbours ↔ Procrustes on one half of the source, then a look at the other;
  again for other halves;
* closeness: how near the mapped held-out points are to their answers;
* two views: the directions of the space are split at random in two halves. Does the answer of a held-out point in one view
  come out of the other view as well, and mutually? By chance it hardly ever does;
* wrong maps: Q with half of the principal directions turned round keeps the second moments of both clouds and destroys
  everything else. Climbed for a while and looked at in the same way, such maps say what closeness and agreement are worth for this
  number of points, dimension and noise;
* rivals: a long fit remembers also the points that a look holds out, so that a wrong one is ahead of quick wrong maps, and one
  that was not fitted for long is behind them. Where these leave a doubt, the map is explored and climbed anew and so are wrong
  maps, in the same way: exploration forgets everything but the basin it starts in, and what is left is fitted alike. What has
  other answers than the map had does not speak for it: exploration finds home from far away, on easy clouds from anywhere;
* the way home: a map that is ahead of rivals may still be right in a few directions only. The basin of a right map is wide: with
  some of its directions turned round and fitted once more, it comes back. Others go elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
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
from damastes.pairs import Pairs
from damastes.recipes import CLIMB, DEFAULT, EXPLORE_BRIEFLY
from damastes.retrieval import CSLS, Choices, Cosines, choose
from damastes.solvers import Chain, SelfLearning, Solver, fading
from damastes.spectrum import Spectrum

__all__ = ["Verdict", "judge"]

# What a look is at, unless it leaves a doubt.
_POINTS = 1500
_ALL = 1_000_000
_NO_PAIRS = Pairs.none()
# With fewer points or directions than these nothing can be held out.
_MIN_POINTS = 20
_MIN_DIMENSION = 4
# Poorly determined directions only let halves overfit, so the look is at no more than these, and a third of the points.
_MAX_DIMENSION = 100
# Self-learning on one half, enough to bring most rough maps home.
_CLIMB = SelfLearning(n_iter=4, batch_size=_ALL, pool=_ALL, memory=fading(0.0))
# What makes a wrong map of random signs: batches of half the points find better fits to noise, and sooner, than rounds on all
# of them, as the fits do that are to be judged. With twice as many, clusters begin to come home.
_WRONG_CLIMB = SelfLearning(n_iter=15, pool=_ALL, memory=fading(0.7), noise=0.1)
# What makes a map and its rivals equal. Longer stages remember more, and tell less.
_EQUAL_STAGES = Chain((EXPLORE_BRIEFLY, CLIMB))
# What brings a map home. It ends as the fit ended that is to be met.
_WAY_HOME = Chain((_EQUAL_STAGES, DEFAULT.refinement))
# No stage takes more points than these.
_POOL = 10_000
# Points times directions of all rivals together.
_WORK_OF_RIVALS = 600_000
# How often a wrong map is drawn while it comes home.
_DRAWS = 3
# The share of the directions that is turned round to see whether a map comes back, the mean cosine with it of one that did, and
# the points it takes: of fewer, or of which few correspond, right maps do not come back either.
_TURNED = 0.25
_HOME = 0.5
_ENOUGH_TO_COME_HOME = 8000
# By how much the odds of a map rise at most because it came home.
_MOST_FOR_HOME = 3.0
# The share of the answers after a climb or a new fit that a map must have given before. Rough maps with a third of the answers
# right have 0.09 and more, finished ones 0.16 and more; those in a right basin with 1 in 25 or 200 right, 0.064 at most.
_KEPT = 0.12
# Random splits of the directions in two views.
_VIEWS = 4
# A look at so many points, when there are more, is enough for a map that scores as no wrong one comes near to.
_ENOUGH_FOR_A_GLANCE = 300
_CLEAR = 0.98
# Scores between these are a doubt, and of so few points also higher ones.
_DOUBT = (0.03, 0.95)
_FEW_POINTS = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """Carry the decision.

    `label` is "aligned", "uncertain" or "failed", `score` in [0, 1], `evidence` the numbers behind them; printing gives words.
    """

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
    n_points: int = _POINTS,
    thorough: bool = True,
    progress: Progress = no_progress,
) -> Verdict:
    """Say whether Q aligns two framed clouds, from the clouds alone.

    Judges the basin of Q rather than its last digits: a rough map is climbed for a few rounds before it is judged, but answers
    that come with the climb alone do not speak for it. Not whether every point has a partner either: two samples of one space
    without a common point can be aligned.

    Parameters
    ----------
    X, Y : framed clouds (n, d_x) and (m, d_y), rows in order of importance or in random order
    Q : map (d_x, d_y)
    rng : source of the halves, views and wrong maps
    n_points : look at the first so many source points, among twice as many targets
    thorough : meet a doubt with new fits, from Q and from wrong maps; otherwise an uncertain verdict is met with a look at
        twice as many points, and all are on where Q leads, whatever its own answers are

    Notes
    -----
    Five looks of 13 products of n_points/2 × 2·n_points scores in at most 100 directions, and 45 smaller ones for the wrong
    maps: a few seconds, whatever the size of the clouds, and less when a third of the points leave no doubt that the map is
    right. A thorough look at a doubt, or at 100 points or fewer, adds four short fits of the first 5,000 points (more of fewer
    points; and one longer fit of 10,000 if the map is not far ahead and there are 8,000 or more), and is at twice as many
    points. Allocates n_points × 2·n_points scores, four times as much in doubt.
    """
    fewer = n_points // 3
    if _ENOUGH_FOR_A_GLANCE <= fewer < min(X.shape[0], Y.shape[0]):
        glance = _judged(X, Y, Q, rng, fewer, progress)
        if glance.score >= _CLEAR:
            return _decided(glance.evidence, itself=thorough)
    verdict = _judged(X, Y, Q, rng, n_points, progress)
    # Of few points a fit remembers every one, and a wrong map may look clear.
    highest = _DOUBT[1] if min(X.shape[0], Y.shape[0]) > _FEW_POINTS else 1.0
    if "closeness" not in verdict.evidence:
        return verdict
    if not thorough:
        # Where right maps are hardly ahead of wrong ones, as between encoders, so few points leave too much to chance.
        doubtful = verdict.label == "uncertain" and n_points < min(X.shape[0], Y.shape[0])
        return _judged(X, Y, Q, rng, 2 * n_points, progress) if doubtful else verdict
    if not _DOUBT[0] < verdict.score < highest:
        return _decided(verdict.evidence)
    verdict = _judged_beside_rivals(X, Y, Q, rng, 2 * n_points, progress)
    if min(X.shape[0], Y.shape[0]) < _ENOUGH_TO_COME_HOME or not _FAILED <= verdict.score < _DOUBT[1]:
        return verdict
    return _decided({**verdict.evidence, "home": _way_home(X, Y, Q, rng, progress)})


def _judged(X: Array, Y: Array, Q: Array, rng: np.random.Generator, n_points: int, progress: Progress) -> Verdict:
    """Compare with quick wrong maps of the points that are looked at, and say what can be made of Q."""
    head_x, head_y = head_rows(X, n_points), head_rows(Y, 2 * n_points)
    fewest = min(head_x.shape[0], head_y.shape[0])
    dimension = _dimension(Q, fewest)
    if fewest < _MIN_POINTS or dimension < _MIN_DIMENSION:
        return Verdict("uncertain", 0.5, {"n_points": head_x.shape[0], "dimension": dimension})
    # Wrong maps get as many points a direction as Q had: with fewer they would fit their points too well, and look good.
    n_all = min(X.shape[0], Y.shape[0])
    width = _clip(round(min(Q.shape) * fewest / n_all), dimension, min(Q.shape))
    A, B = _shared_space(head_x, head_y, Q, width)
    climb = replace(_WRONG_CLIMB, batch_size=-(-fewest // 2))
    wrong = [_lost(A, B, climb, rng) for _ in range(_clip(1500 // fewest, 3, 12))]
    itself = from_numpy(np.eye(width), A)
    evidence = _compared(A, B, [itself], wrong, dimension, 2 * _clip(600 // fewest, 1, 6), rng, progress)
    return _decided(evidence, itself=False)


def _judged_beside_rivals(
    X: Array, Y: Array, Q: Array, rng: np.random.Generator, n_points: int, progress: Progress
) -> Verdict:
    """Explore and climb anew from Q and from wrong maps, and compare what comes of both."""
    A, B = _shared_space(head_rows(X, _POOL), head_rows(Y, _POOL), Q, min(Q.shape))
    n_rivals = _clip(_WORK_OF_RIVALS // (min(A.shape[0], B.shape[0]) * A.shape[1]), 2, 8)
    fits = _renamed("rivals", progress)
    rivals = [_lost(A, B, _EQUAL_STAGES, rng, fits) for _ in range(n_rivals)]
    itself = from_numpy(np.eye(A.shape[1]), A)
    anew = [_EQUAL_STAGES(A, B, itself, pairs=_NO_PAIRS, rng=rng, progress=fits).Q for _ in range(n_rivals)]
    seen_A, seen_B = head_rows(A, n_points), head_rows(B, 2 * n_points)
    fewest = min(seen_A.shape[0], seen_B.shape[0])
    n_looks = _clip(2400 // fewest, 4, 12)
    evidence = _compared(seen_A, seen_B, anew, rivals, _dimension(Q, fewest), n_looks, rng, progress)
    then = _answers(seen_A, seen_B)[0]
    kept = float(np.mean([_kept(then, _answers(seen_A @ Q, seen_B)[0]) for Q in anew]))
    return _decided({"n_rivals": n_rivals, **evidence, "kept": kept})


def _kept(then: Choices, now: Choices) -> float:
    """The share of the mutual answers now that were given then."""
    return float(np.sum(now.mutual & (then.targets == now.targets)) / max(np.sum(now.mutual), 1))


def _way_home(X: Array, Y: Array, Q: Array, rng: np.random.Generator, progress: Progress) -> float:
    """The mean cosine with Q of what it becomes when some directions are turned round and it is fitted once more."""
    A, B = _shared_space(head_rows(X, _POOL), head_rows(Y, _POOL), Q, min(Q.shape))
    turned = _turned(A, _TURNED, rng)
    back = _WAY_HOME(A, B, turned, pairs=_NO_PAIRS, rng=rng, progress=_renamed("the way home", progress))
    return _cosine_with_the_identity(A, back.Q)


def _cosine_with_the_identity(A: Array, Q: Array) -> float:
    xp = namespace(A)
    return float(xp.mean(xp.sum((A @ Q) * A, axis=1)))


def _compared(
    A: Array,
    B: Array,
    judged: Sequence[Array],
    wrong: Sequence[Array],
    dimension: int,
    n_looks: int,
    rng: np.random.Generator,
    progress: Progress,
) -> dict[str, Any]:
    """Look at what is judged, and at wrong maps."""
    maps = [judged[k % len(judged)] for k in range(n_looks)]
    maps += [wrong[k % len(wrong)] for k in range(max(n_looks, len(wrong)))]
    looks = []
    for step, Q in enumerate(maps):
        looks.append(_look(A, B, Q, dimension, rng))
        progress("verdict", step + 1, len(maps), {})
    closeness, agreement, kept = np.mean(looks[:n_looks], axis=0).tolist()
    wrong_closeness, wrong_agreement, _ = np.mean(looks[n_looks:], axis=0).tolist()
    return {
        "n_points": A.shape[0],
        "dimension": dimension,
        "closeness": closeness,
        "closeness_of_wrong_maps": wrong_closeness,
        "agreement": agreement,
        "agreement_of_wrong_maps": wrong_agreement,
        "kept": kept,
    }


def _dimension(Q: Array, n_points: int) -> int:
    """Directions of a look at so many points."""
    return min(_MAX_DIMENSION, int(min(Q.shape)), max(n_points // 3, _MIN_DIMENSION))


def _lost(A: Array, B: Array, solver: Solver, rng: np.random.Generator, progress: Progress = no_progress) -> Array:
    """A wrong map: a random half of the principal directions turned round, then improved.

    One that comes nearer to the map that is judged, which is the identity here, than chance does is on its way home and not
    wrong: another is drawn, or at last its start taken.
    """
    for _ in range(_DRAWS):
        start = _turned(A, 0.5, rng)
        Q = solver(A, B, start, pairs=_NO_PAIRS, rng=rng, progress=progress).Q
        if np.trace(to_numpy(Q)) <= 2 * sqrt(A.shape[1]):
            return Q
    return start


def _turned(A: Array, share: float, rng: np.random.Generator) -> Array:
    """The identity with a random share of the directions turned round."""
    dimension = A.shape[1]
    signs = np.where(np.arange(dimension) < int(share * dimension), -1.0, 1.0)
    return from_numpy(np.diag(rng.permutation(signs)), A)


def _clip(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _renamed(stage: str, progress: Progress) -> Progress:
    return lambda _, done, total, info: progress(stage, done, total, info)


def _shared_space(X: Array, Y: Array, Q: Array, dimension: int) -> tuple[Array, Array]:
    """XQ and Y in the leading principal directions of both together, where the map is the identity; unit rows."""
    mapped = X @ Q
    both = namespace(Y).concat([mapped, Y])
    weights = np.concatenate([np.full(Z.shape[0], 0.5 / Z.shape[0]) for Z in (mapped, Y)])
    spectrum = Spectrum.of(both, check_weights(weights, both.shape[0], "weights", both))
    leading = cast_like(spectrum.vectors[:, -dimension:], Y)
    return unit_rows(mapped @ leading), unit_rows(Y @ leading)


def _answers(mapped: Array, Y: Array) -> tuple[Choices, NumpyArray]:
    """The CSLS answers of all mapped points, and the cosines with them."""
    cosines = Cosines(mapped, Y)
    bias = CSLS().biases(cosines)
    found = choose(cosines, bias)
    return found, (found.scores + to_numpy(bias.rows) + to_numpy(bias.columns)[found.targets]) / 2


def _look(X: Array, Y: Array, Q: Array, dimension: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Climb from Q on a random half of the source and look at the other half.

    Returns the mean cosine of held-out points with their CSLS answers, the share of them with one mutual answer in both of two
    views, and the share of their mutual answers that Q gave before the climb. All in the leading directions of XQ and Y
    together, where Q is the identity.
    """
    A, B = _shared_space(X, Y, Q, dimension)
    fitted, held_out = np.array_split(rng.permutation(A.shape[0]), 2)
    same = from_numpy(np.eye(dimension), A)
    before = take_rows(A, held_out)
    seen = before @ _CLIMB(take_rows(A, fitted), B, same, pairs=_NO_PAIRS, rng=rng).Q
    agreements = []
    for _ in range(_VIEWS):
        turn = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        parts = [from_numpy(part, A) for part in np.array_split(turn, 2, axis=1)]
        one, other = (_answers(seen @ part, B @ part)[0] for part in parts)
        agreements.append(float(np.mean(one.mutual & other.mutual & (one.targets == other.targets))))
    now, cosines = _answers(seen, B)
    return float(cosines.mean()), float(np.mean(agreements)), _kept(_answers(before, B)[0], now)


# --- the decision -------------------------------------------------------------------------------------------------------

# From benchmarks/verdict.py. _ALIGNED is a strength of 0.071; beside rivals of 0.015 and, since few points leave more to
# chance, five times as much for 50.
_EVEN_STRENGTH = 0.05
_EVEN_BESIDE_RIVALS = 0.0105
# Where views hardly ever agree, a few more agreements than those of wrong maps are no evidence.
_CHANCE = 0.003
_ALIGNED = 2 / 3
_FAILED = 1 / 3


def _decided(evidence: Mapping[str, Any], *, itself: bool = True) -> Verdict:
    """Gain times lift, squashed to [0, 1]; of the map itself, or of what climbing makes of it.

    A product, because either may be large alone for a wrong map: clusters matched with the wrong clusters bring points close,
    and points that a fit has seen for long keep some agreement. Odds are the square of it; more for a map that came home, less
    for one that did not, and nothing for one that has become another.
    """
    strength = max(_gain(evidence), 0.0) * max(_lift(evidence), 0.0)
    even = _EVEN_STRENGTH
    if "n_rivals" in evidence:
        even = _EVEN_BESIDE_RIVALS * (1 + 2 * _FEW_POINTS / float(evidence["n_points"]))
    odds = (strength / even) ** 2
    if "home" in evidence:
        odds *= min((max(float(evidence["home"]), 0.0) / _HOME) ** 6, _MOST_FOR_HOME)
    score = odds / (1 + odds)
    if itself:
        score *= min(float(evidence.get("kept", _KEPT)) / _KEPT, 1.0) ** 3
    return Verdict("aligned" if score >= _ALIGNED else "failed" if score < _FAILED else "uncertain", score, evidence)


def _gain(evidence: Mapping[str, Any]) -> float:
    """How much of the way from wrong maps to cosine 1."""
    wrong = float(evidence["closeness_of_wrong_maps"])
    return (float(evidence["closeness"]) - wrong) / max(1 - wrong, 1e-6)


def _lift(evidence: Mapping[str, Any]) -> float:
    """How many times (log) more often the views agree than for wrong maps; a few agreements are always to be expected."""
    few = 2 / float(evidence["n_points"]) + _CHANCE
    return log((evidence["agreement"] + few) / (evidence["agreement_of_wrong_maps"] + few))


def _in_words(evidence: Mapping[str, Any]) -> str:
    if "closeness" not in evidence:
        return (
            f"too few points or directions to tell ({evidence['n_points']} points, {evidence['dimension']} directions)"
        )
    words = (
        f"held-out points come within cosine {evidence['closeness']:.2f} of their answers (wrong maps here: "
        f"{evidence['closeness_of_wrong_maps']:.2f}), and {100 * evidence['agreement']:.1f} % get the same mutual answer from "
        f"either half of the directions (wrong maps: {100 * evidence['agreement_of_wrong_maps']:.1f} %)"
    )
    if evidence.get("kept", _KEPT) < _KEPT:
        words += f"; fitted anew it becomes another map, which has {100 * evidence['kept']:.1f} % of its answers from this one"
    if evidence.get("home", _HOME) < _HOME:
        words += f"; fitted anew from nearby, it comes back only to cosine {evidence['home']:.2f}"
    return words
