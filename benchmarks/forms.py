"""How many of the wrong answers are another form of a right word: P@1 counted by form, as everywhere else, and by lemma.

    python benchmarks/forms.py --data DIR --vectors DIR --lexicons DIR [--pairs en-fi …] [--seeds 3] [--jobs 1]

Needs `pip install simplemma` (2.0.0 here). Dictionaries have some forms of a word, often the base form alone, and vectors have
all of them. A supervised map learns from its dictionary which form is asked for; from vectors alone nobody can know. By lemma, an
answer is right when simplemma gives it the lemma of a right answer. --vectors and --lexicons are those of confirmation.py.
The fit is given vectors alone.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import simplemma

import confirmation
import damastes
from accuracy import Case
from damastes.recipes import DEFAULT
from damastes.retrieval import CSLS
from data import run_cells

COMMAND = "python benchmarks/forms.py --data DIR --vectors DIR --lexicons DIR"
# The language of the answers.
OF_ACCURACY = {"en-fr": "fr", "fr-en": "en", "en-es": "es", "es-en": "en", "en-fi": "fi", "fi-en": "en", "fr-fi": "fi"}
OF_CONFIRMATION = {"en ru-books": "ru", "en ru-news": "ru", "en tr": "tr", "ru-books en": "en", "tr en": "en"}
LANGUAGES = OF_ACCURACY | OF_CONFIRMATION

Clouds = tuple[np.ndarray, np.ndarray]


class Questions:
    """Two clouds, the rows that are asked with their right answers, and supervised maps of what is not asked."""

    def __init__(self, pair: str, options: argparse.Namespace) -> None:
        self.language = LANGUAGES[pair]
        self.answers: dict[int, set[int]] = {}
        if pair in OF_ACCURACY:
            case = Case(pair, options.data)
            self.source, self.target, self.answers = case.source, case.target, case.answers(False)
            self.supervised = {
                name: _embedded(case.supervised(frame, False, False))
                for name, frame in (("plain_frame", DEFAULT.frame), ("same_frame", DEFAULT.finish))
            }
            return
        scene = confirmation.Scene(pair, options.vectors, options.lexicons)
        self.source, self.target = scene.source, scene.target
        for asked, answer in scene.pairs[np.isin(scene.pairs[:, 0], scene.asked)].tolist():
            self.answers.setdefault(asked, set()).add(answer)
        self.supervised = {
            "plain_frame": scene.supervised(DEFAULT.frame),
            "same_frame": scene.supervised(DEFAULT.finish),
            "same_frame_refined": scene.supervised(DEFAULT.finish, DEFAULT.climb, DEFAULT.refinement),
        }

    def hits(self, clouds: Clouds) -> dict[str, np.ndarray]:
        """Which of the words that are asked get a right answer, by form and by lemma."""
        queries = np.array(sorted(self.answers))
        found = CSLS()(*clouds, queries=queries).indices[:, 0].tolist()
        labels = self.target.labels
        right = [self.answers[query] for query in queries.tolist()]
        lemmas = [{_lemma(labels[row], self.language) for row in rows} for rows in right]
        return {
            "form": np.array([row in rows for row, rows in zip(found, right, strict=True)]),
            "lemma": np.array(
                [_lemma(labels[row], self.language) in of for row, of in zip(found, lemmas, strict=True)]
            ),
        }


def _embedded(alignment: damastes.Alignment) -> Clouds:
    return alignment.embed_source(), alignment.embed_target()


@cache
def _lemma(word: str, language: str) -> str:
    return simplemma.lemmatize(word.lower(), lang=language).lower()


def cell(pair: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """One fit beside supervised maps."""
    questions = Questions(pair, options)
    alignment = damastes.align(questions.source, questions.target, random_state=seed)
    ours = questions.hits(_embedded(alignment))
    row: dict[str, Any] = {"pair": pair, "seed": seed, "n_words": len(questions.answers)}
    row |= {name: float(hits.mean()) for name, hits in ours.items()}
    for name, clouds in questions.supervised.items():
        row[f"supervised_{name}"] = {}
        for how, hits in questions.hits(clouds).items():
            gain = ours[how].astype(float) - hits
            half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
            row[f"supervised_{name}"][how] = float(hits.mean())
            row[f"supervised_{name}"][f"gain_{how}"] = [gain.mean(), gain.mean() - half, gain.mean() + half]
    return row | {"verdict": alignment.verdict.label}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--vectors", type=Path, nargs="+", default=[])
    parser.add_argument("--lexicons", type=Path)
    parser.add_argument("--pairs", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(cell(options.cell[0], int(options.cell[1]), options)))
        return

    cells = [(pair, seed) for seed in range(options.seeds) for pair in options.pairs]
    run_cells("forms", COMMAND, cells, list(LANGUAGES), options.jobs)


if __name__ == "__main__":
    main()
