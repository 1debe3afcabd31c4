"""Figure 1 of the paper: words of two languages in their principal plane, before and after alignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray, Progress, to_numpy
from damastes.alignment import align
from damastes.errors import InputError
from damastes.experiments.cells import Cell, Experiment, Result, Results, Setting
from damastes.experiments.data import Problem
from damastes.experiments.drawing import Panel, draw_panels, need_matplotlib
from damastes.experiments.layout import Layout, Row
from damastes.experiments.measure import describe, precision
from damastes.recipes import DEFAULT
from damastes.retrieval import CSLS, Nearest

__all__ = ["EXPERIMENT"]

# Concrete words of several fields, so that there is a plane to see; those that lexicon and vocabularies have are shown.
_WISHES = (
    *("september", "july", "germany", "portugal", "italy", "seven", "twenty", "fish", "meat", "milk", "river", "water"),
    *("women", "children", "teachers", "music", "film", "railway", "ships", "winter", "hospital", "green", "tuesday"),
)
_N_WORDS = 13
_SEED = 0
_QUICK_CLOUD = 10_000


def cells(setting: Setting) -> list[Cell]:
    """One cell: an alignment and where its words lie."""
    problem = _problem(setting)
    inputs = {"data": problem.hashes(), "recipe": repr(DEFAULT), "seed": _SEED, "words": _WISHES, "shown": _N_WORDS}
    return [Cell(_key(problem), inputs, lambda progress: _run(problem, progress))]


def layout(setting: Setting, results: Results) -> Layout:
    """The labelled words: their translations, and how near those are before and after."""
    problem = _problem(setting)
    result = results[_key(problem)]
    rows = [
        Row(word["source"], [word["target"], word["found"], f"{word['before']:.2f}", f"{word['after']:.2f}"])
        for word in result["words"]
    ]
    shares = "; ".join(f"{panel} {100 * result[panel]['share']:.0f} %" for panel in ("before", "after"))
    return Layout(
        title="Figure 1: words before and after alignment",
        corner="word",
        columns=["translation", "found", "cosine before", "after"],
        rows=rows,
        measured=[
            f"{describe(problem.name, result['precision'])}; P@1 (CSLS) of this alignment: "
            f"{100 * result['precision']['forward']['csls']:.1f} %",
            f"recipe default, 1 seed ({_SEED}); verdict: {result['verdict']}",
            problem.about,
        ],
        notes=[
            "a panel is the principal plane of the labelled words of both languages, which are framed (unit, centred, ridge) "
            f"and then only rotated; share of their variance in the plane: {shares}",
            "translation: the lexicon's first that the vocabulary has; found: the alignment's own first answer (CSLS); the map "
            "was found without either",
        ],
        quick=setting.quick,
    )


def draw(results: Results, stem: Path) -> list[str]:
    """Write the figure as PNG and SVG."""
    (result,) = results.values()
    labels = [(word["source"], word["target"]) for word in result["words"]]
    panels = [
        Panel(title, labels, np.asarray(result[name]["source"]), np.asarray(result[name]["target"]))
        for name, title in (("before", "before alignment"), ("after", "after alignment"))
    ]
    return draw_panels(panels, result["languages"], stem)


def _problem(setting: Setting) -> Problem:
    problem = setting.data.load(setting.data.preferred("en-fr", "en-es"))
    return problem.head(_QUICK_CLOUD) if setting.quick else problem


def _key(problem: Problem) -> str:
    return f"{problem.name}/default/seed {_SEED}"


def _run(problem: Problem, progress: Progress) -> Result:
    alignment = align(problem.source, problem.target, recipe=DEFAULT, random_state=_SEED, progress=progress)
    pairs = _labelled(problem)
    rows = np.array([(problem.source.row(a), problem.target.row(b)) for a, b in pairs])
    X = to_numpy(alignment.map.source_frame(problem.source.matrix[rows[:, 0]]))
    Y = to_numpy(alignment.map.target_frame(problem.target.matrix[rows[:, 1]]))
    # Before there is a map, coordinates of the two spaces are compared as they come; a smaller space gets zeros.
    width = max(X.shape[1], Y.shape[1])
    before = _padded(X, width), _padded(Y, width)
    after = X @ to_numpy(alignment.Q), Y
    cosines = [
        np.sum(A * B, axis=1) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1) for A, B in (before, after)
    ]
    words = [
        {
            "source": source,
            "target": target,
            "found": alignment.translate(source, k=1)[0][0],
            "before": round(float(cosines[0][k]), 4),
            "after": round(float(cosines[1][k]), 4),
        }
        for k, (source, target) in enumerate(pairs)
    ]
    return {
        "languages": ["English", _LANGUAGES.get(_target_language(problem), _target_language(problem))],
        "words": words,
        "before": _plane(*before),
        "after": _plane(*after),
        "verdict": "none" if alignment.verdict is None else alignment.verdict.label,
        "precision": precision(alignment, problem, retrievers=(Nearest(), CSLS()), both_ways=False),
    }


_LANGUAGES = {"es": "Spanish", "fr": "French", "de": "German", "ru": "Russian", "fi": "Finnish", "ja": "Japanese"}


def _target_language(problem: Problem) -> str:
    return "es" if problem.name == "sample" else problem.name.split("-")[-1]


def _labelled(problem: Problem) -> list[tuple[str, str]]:
    """Pairs to show: the wished words first, then the most frequent ones that the lexicon has."""
    first: dict[str, str] = {}
    for source, target in (*problem.train, *problem.forward):
        if source in problem.source and target in problem.target:
            first.setdefault(source, target)
    wished = [word for word in _WISHES if word in first]
    others = sorted(first.keys() - set(wished), key=problem.source.row)
    # Each label once: two sources with one translation would lie upon each other.
    shown: dict[str, str] = {}
    for word in (*wished, *others):
        shown.setdefault(first[word], word)
    if not shown:
        raise InputError(
            f"no pair of the lexicon of {problem.name} has both words in the vocabularies: nothing to label"
        )
    return [(source, target) for target, source in shown.items()][:_N_WORDS]


def _padded(points: NumpyArray, width: int) -> NumpyArray:
    return np.pad(points, ((0, 0), (0, width - points.shape[1])))


def _plane(X: NumpyArray, Y: NumpyArray) -> dict[str, Any]:
    """Coordinates in the two principal directions of all points, with signs that do not depend on the SVD's whim."""
    points = np.concatenate([X, Y]).astype(np.float64)
    points -= points.mean(axis=0)
    _, values, axes = np.linalg.svd(points, full_matrices=False)
    plane = points @ axes[:2].T
    plane *= np.where(plane[np.abs(plane).argmax(axis=0), [0, 1]] < 0, -1, 1)
    share = float((values[:2] ** 2).sum() / (values**2).sum())
    source, target = (part.round(4).tolist() for part in (plane[: len(X)], plane[len(X) :]))
    return {"source": source, "target": target, "share": round(share, 4)}


def needs(setting: Setting) -> None:
    """Say what drawing needs."""
    need_matplotlib()


EXPERIMENT = Experiment("figure1", cells, layout, draw, needs=needs)
