"""`damastes translate`: the nearest words of the other side."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damastes.cli.options import AsJson, Directory, Retrieval, retrievers
from damastes.cli.run import Reading, read_run
from damastes.cli.terminal import note, print_json
from damastes.errors import InputError

if TYPE_CHECKING:
    from damastes import Alignment, Vectors

__all__ = ["translate"]


def translate(
    directory: Directory,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words; without any, lines of standard input.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many translations of each.")] = 5,
    backward: Annotated[bool, typer.Option("--backward", help="Translate target words to the source.")] = False,
    retrieval: Annotated[Retrieval, typer.Option(help="How translations are chosen.")] = Retrieval.csls,
    as_json: AsJson = False,
) -> None:
    """Translate words, best translation first, with scores.

    Example: damastes translate en-es parliament green -k 3
    """
    import numpy as np

    if not words:
        if sys.stdin.isatty():
            raise InputError("there are no words to translate: name some, or send them to standard input, one a line")
        words = [line.strip() for line in sys.stdin if line.strip()]
    if not words:
        raise InputError("there are no words to translate on standard input")
    alignment, reading = read_run(directory)
    alignment = _with_unseen(alignment, [reading.word(word) for word in words], backward=backward)
    asked, answering = (alignment.target, alignment.source) if backward else (alignment.source, alignment.target)
    rows = {word: asked.row(reading.word(word)) for word in words if reading.word(word) in asked}
    found: dict[str, list[tuple[str, float]]] = {}
    if rows:
        near = alignment.neighbours(
            k, retriever=retrievers()[retrieval], queries=np.asarray(list(rows.values())), backward=backward
        )
        for word, indices, scores in zip(rows, near.indices.tolist(), near.scores.tolist(), strict=True):
            found[word] = [(answering.label(j), score) for j, score in zip(indices, scores, strict=True)]
    suggestions = {word: near_spellings(word, asked, reading) for word in words if word not in rows}
    if as_json:
        print_json([_entry(word, found.get(word), suggestions.get(word)) for word in words])
    else:
        width = max(map(len, rows), default=0)
        for word in words:
            if word in found:
                typer.echo(f"{word:{width}}  {', '.join(f'{label} {score:.2f}' for label, score in found[word])}")
    for word, spellings in suggestions.items():
        hint = f". Near spellings: {', '.join(spellings)}" if spellings else ""
        typer.echo(f"damastes: {word!r} is not among the {len(asked):,} words of {asked.name}{hint}", err=True)
    if not rows:
        raise typer.Exit(2)


def _with_unseen(alignment: Alignment, words: list[str], *, backward: bool) -> Alignment:
    """Add the words that a fastText model did not see but has pieces of; other vectors stay as they are."""
    import numpy as np

    from damastes import Alignment, Vectors
    from damastes.io import FastTextVectors

    asked = alignment.target if backward else alignment.source
    if not isinstance(asked, FastTextVectors):
        return alignment
    built = {word: asked.vector(word) for word in words if word not in asked}
    built = {word: vector for word, vector in built.items() if vector.any()}
    if not built:
        return alignment
    note(f"made from their pieces, as {asked.name} has not seen them: {', '.join(built)}")
    labels = [*(asked.labels or ()), *built]
    more = Vectors(labels, np.vstack([asked.matrix, *built.values()]), ordered=asked.ordered, name=asked.name)
    source, target = (alignment.source, more) if backward else (more, alignment.target)
    return Alignment(alignment.map, source, target)


def near_spellings(word: str, vocabulary: Vectors, reading: Reading, n: int = 3) -> list[str]:
    """Words of the vocabulary that are spelt like one it does not have, most similar first."""
    word = reading.word(word)
    folded = word.casefold()
    # difflib is slow, so it sees only words of about the same length.
    candidates = [label for label in vocabulary.labels or () if abs(len(label) - len(word)) <= 2]
    same = [label for label in candidates if label.casefold() == folded]
    near = get_close_matches(word, candidates, n=n, cutoff=0.7)
    return list(dict.fromkeys([*same, *near]))[:n]


def _entry(word: str, found: list[tuple[str, float]] | None, near: list[str] | None) -> dict[str, Any]:
    if found is None:
        return {"word": word, "known": False, "translations": [], "suggestions": near}
    return {
        "word": word,
        "known": True,
        "translations": [{"word": label, "score": score} for label, score in found],
    }
