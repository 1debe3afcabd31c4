"""`damastes align`: two vector files in, a map and a lexicon out."""

from __future__ import annotations

import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damastes.cli.options import AsJson, SkipBadLines
from damastes.cli.run import Reading, check_output, write_run
from damastes.cli.terminal import note, print_evaluations, print_json, print_text, progress_bar
from damastes.errors import InputError

if TYPE_CHECKING:
    from damastes import Evaluation, Vectors
    from damastes.initializers import Initializer
    from damastes.verdict import Verdict

__all__ = ["align", "exit_with"]

FAILED = 3


class RecipeName(StrEnum):
    """Recipes by name."""

    default = "default"
    paper = "paper"
    authors = "authors"


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Vectors to map, in any form.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Vectors to map them to.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where map, lexicon and record are written.", show_default=False
        ),
    ],
    limit: Annotated[
        int, typer.Option(metavar="N", min=2, help="Read at most so many vectors of each file.")
    ] = 200_000,
    recipe: Annotated[RecipeName, typer.Option(help="The method.")] = RecipeName.default,
    initializer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start with convex, independent, random or anchors only.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|identical",
            help="Learn from known pairs: a file of two columns, or the words both sides share.",
        ),
    ] = None,
    via: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Vectors of a third space, a way round if all else fails.")
    ] = None,
    lexicon: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measure the result on these pairs, after the fit.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same result.")] = 0,
    lower: Annotated[
        bool, typer.Option("--lower", help="Words in lower case; of two that become the same, the first stays.")
    ] = False,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Align two files of word vectors without a dictionary.

    Exit status: 0, 2 when the input is bad, 3 when the alignment is judged to have failed.

    Example: damastes align wiki.en.vec wiki.es.vec -o en-es
    """
    import damastes

    start = None if initializer is None else _initializer_named(initializer)
    if initializer == "anchors" and pairs is None:
        raise InputError("--initializer anchors starts from known pairs: give them with --pairs FILE")
    check_output(output)
    # What can be wrong with the small files is said before the large ones are read.
    listed = None if pairs in (None, "identical") else damastes.read_lexicon(pairs)
    asked = None if lexicon is None else damastes.read_lexicon(lexicon)
    reading = Reading(limit, lower, skip_bad_lines)
    began = time.perf_counter()
    clouds = [reading(path) for path in (source, target)]
    seconds = {"reading": time.perf_counter() - began}
    known = None if pairs is None else _known_pairs(pairs, listed, reading, clouds)
    if asked is not None and not any(a in clouds[0] and b in clouds[1] for a, b in reading.pairs(asked)):
        raise InputError(f"{lexicon}: none of its {len(asked):,} pairs has both words in the vocabularies")
    with progress_bar() as progress:
        alignment = damastes.align(
            *clouds,
            recipe=recipe.value,
            initializer=start,
            pairs=known,
            via=None if via is None else reading(via),
            random_state=seed,
            progress=progress,
        )
    evaluations = [] if asked is None else [damastes.evaluate(alignment, reading.pairs(asked))]
    inputs = {"source": source, "target": target}
    if pairs is not None and listed is not None:
        inputs["pairs"] = Path(pairs)
    for name, path in (("via", via), ("lexicon", lexicon)):
        if path is not None:
            inputs[name] = path
    options = {
        **asdict(reading),
        "recipe": recipe.value,
        "initializer": initializer,
        "pairs": pairs,
        "via": None if via is None else str(via),
        "lexicon": None if lexicon is None else str(lexicon),
        "seed": seed,
    }
    results = [result.to_json() for result in evaluations]
    record = write_run(output, alignment, inputs, options, seconds=seconds, evaluation=results or None)
    if as_json:
        print_json(record)
    else:
        _report(output, record, clouds, evaluations, alignment.verdict)
    exit_with(alignment.verdict)


def exit_with(verdict: Verdict | None) -> None:
    """End with the status of a failed alignment if it is one."""
    if verdict is not None and verdict.label == "failed":
        raise typer.Exit(FAILED)


def _report(
    output: Path, record: dict[str, Any], clouds: list[Vectors], evaluations: list[Evaluation], verdict: Verdict | None
) -> None:
    seconds = sum(record["seconds"].values())
    did = "Could not align" if verdict is not None and verdict.label == "failed" else "Aligned"
    typer.echo(f"{did} {len(clouds[0]):,} with {len(clouds[1]):,} vectors in {seconds:.1f} s.")
    if verdict is not None:
        print_text(f"Verdict: {verdict}")
    if evaluations:
        typer.echo("\nRight translations in % (95 % interval):\n")
        print_evaluations(evaluations)
        typer.echo("")
    typer.echo(f"Written to {output}/: map.safetensors, lexicon.tsv ({record['lexicon']['pairs']:,} pairs), run.json")
    if verdict is not None and verdict.label == "failed":
        print_text(
            "Next:  a few known pairs (--pairs FILE), or a third space that both sides are more like (--via FILE), may help"
        )
    else:
        typer.echo(f"Next:  damastes translate {output} WORD")


def _known_pairs(
    option: str, listed: list[tuple[str, str]] | None, reading: Reading, clouds: list[Vectors]
) -> list[tuple[str, str]]:
    source, target = clouds
    if listed is None:
        known = [(label, label) for label in source.labels or () if label in target]
        if not known:
            raise InputError("--pairs identical: the two vocabularies have no word in common")
        note(f"known pairs: {len(known):,} identical words")
        return known
    known = [pair for pair in dict.fromkeys(reading.pairs(listed)) if pair[0] in source and pair[1] in target]
    if not known:
        raise InputError(f"{option}: none of its {len(listed):,} pairs has both words in the vocabularies")
    note(f"known pairs: {len(known):,} of {len(listed):,} are in the vocabularies")
    return known


def _initializer_named(name: str) -> Initializer:
    """A start by name, with its own settings."""
    from damastes.initializers import Anchors, Convex, IndependentComponents, Random

    starts: dict[str, type[Initializer]] = {
        "convex": Convex,
        "independent": IndependentComponents,
        "random": Random,
        "anchors": Anchors,
    }
    if name not in starts:
        raise InputError(f"--initializer must be one of {', '.join(starts)}, got {name!r}")
    return starts[name]()
