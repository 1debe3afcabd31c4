"""`damastes evaluate`: how good an alignment is, on a lexicon, on word similarities, on sentences."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damastes.cli.options import AsJson, Directory, retrievers
from damastes.cli.run import read_run
from damastes.cli.terminal import print_bands, print_evaluations, print_json, status
from damastes.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from damastes import Evaluation
    from damastes.evaluation import SentenceRetrieval, Similarity

__all__ = ["evaluate"]


class RetrievalOrAll(StrEnum):
    """Retrieval criteria by name, or all of them."""

    nn = "nn"
    csls = "csls"
    isf = "isf"
    all = "all"


class Direction(StrEnum):
    """Which side is asked."""

    forward = "forward"
    backward = "backward"
    both = "both"


def evaluate(
    directory: Directory,
    lexicon: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pairs of words, two columns: precision at 1, 5 and 10.")
    ] = None,
    similarity: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Two words and a score a line: Spearman's correlation.")
    ] = None,
    sentences: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Two texts, a sentence a line, aligned: sentence retrieval."),
    ] = None,
    retrieval: Annotated[RetrievalOrAll, typer.Option(help="How translations are chosen.")] = RetrievalOrAll.csls,
    direction: Annotated[Direction, typer.Option(help="Ask source words, target words or both.")] = Direction.forward,
    as_json: AsJson = False,
) -> None:
    """Measure an alignment on a lexicon, word similarities or sentences.

    Example: damastes evaluate en-es --lexicon en-es.txt --direction both
    """
    import damastes
    from damastes.evaluation import retrieve_sentences, word_similarity
    from damastes.io.similarities import read_similarities

    if lexicon is None and similarity is None and sentences is None:
        raise InputError("there is nothing to measure: give --lexicon, --similarity or --sentences")
    pairs = None if lexicon is None else damastes.read_lexicon(lexicon)
    judgements = None if similarity is None else read_similarities(similarity)
    texts = None if sentences is None else [_lines(path) for path in sentences]
    alignment, reading = read_run(directory)
    chosen = [value for name, value in retrievers().items() if retrieval in ("all", name)]
    words: list[Evaluation] = []
    similar: Similarity | None = None
    found: list[SentenceRetrieval] = []
    with status("measuring"):
        if pairs is not None:
            words = [
                damastes.evaluate(alignment, reading.pairs(pairs), retriever=retriever, backward=backward)
                for backward in (False, True)
                if direction == "both" or (direction == "backward") == backward
                for retriever in chosen
            ]
        if judgements is not None:
            similar = word_similarity(alignment, [(reading.word(a), reading.word(b), s) for a, b, s in judgements])
        if texts is not None:
            found = [retrieve_sentences(alignment, *texts, retriever=retriever) for retriever in chosen]
    if as_json:
        print_json(_to_json(words, similar, found))
        return
    if words:
        typer.echo("Right translations in % (95 % interval):\n")
        print_evaluations(words)
        if any(result.bands for result in words):
            typer.echo("\nP@1 by frequency rank of the word that is asked (words):\n")
            print_bands(words)
    if similar is not None:
        typer.echo(
            f"{_gap(words)}Word similarity ({'–'.join(similar.sides)}): Spearman {similar.spearman:.3f} "
            f"on {similar.n_pairs:,} pairs, {100 * similar.coverage:.0f} % of the list"
        )
    for result in found:
        _print_sentences(result, _gap(words) if result is found[0] and similar is None else "")


def _gap(before: list[Evaluation]) -> str:
    return "\n" if before else ""


def _print_sentences(result: SentenceRetrieval, gap: str) -> None:
    shares = [
        f"{100 * share:.1f} ({100 * low:.1f}–{100 * high:.1f})"
        for share, (low, high) in ((result.forward, result.forward_ci95), (result.backward, result.backward_ci95))
    ]
    typer.echo(
        f"{gap}Sentence retrieval ({result.retrieval}), P@1 in %: forward {shares[0]}, backward {shares[1]}\n"
        f"  {result.n_asked:,} of {result.n_sentences:,} pairs; without a known word: {result.unknown_source:,} source, "
        f"{result.unknown_target:,} target sentences"
    )


def _to_json(words: list[Evaluation], similar: Similarity | None, found: list[SentenceRetrieval]) -> Any:
    """A lexicon alone gives its results alone; several measures go by their names."""
    lexicon = [result.to_json() for result in words]
    if similar is None and not found:
        return lexicon[0] if len(lexicon) == 1 else lexicon
    return {
        **({"lexicon": lexicon} if lexicon else {}),
        **({"similarity": similar.to_json()} if similar is not None else {}),
        **({"sentences": [result.to_json() for result in found]} if found else {}),
    }


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: expected UTF-8 text, got {error.reason}") from None
