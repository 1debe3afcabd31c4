"""`damastes demo`: the main job on the shipped sample."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.align import exit_with
from damastes.cli.options import AsJson, retrievers
from damastes.cli.run import check_output, write_run
from damastes.cli.terminal import print_evaluations, print_json, print_text, progress_bar

__all__ = ["demo"]

_WORDS = ("parliament", "green", "seven", "fishermen", "railway", "thank", "climate", "women")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where map, lexicon and record are written.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same result.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Align the shipped English and Spanish vectors and look at the result.

    No dictionary is used to align them; the shipped one only measures the result. Takes about 10 seconds.

    Example: damastes demo
    """
    import damastes

    check_output(output)
    en, es = damastes.samples.load("en"), damastes.samples.load("es")
    if not as_json:
        typer.echo(f"{len(en):,} English and {len(es):,} Spanish word vectors; no dictionary is used to align them.")
    with progress_bar() as progress:
        alignment = damastes.align(en, es, random_state=seed, progress=progress)
    with as_file(files("damastes.samples")) as folder:
        inputs = {"source": folder / "en.npz", "target": folder / "es.npz"}
        options = {"limit": None, "recipe": "default", "pairs": None, "seed": seed}
        record = write_run(output, alignment, inputs, options)
    # The lexicon is read here, after the fit, and only to measure it.
    lexicon = damastes.samples.lexicon()
    results = [
        damastes.evaluate(alignment, lexicon, retriever=retrievers()[name], backward=backward)
        for backward in (False, True)
        for name in ("nn", "csls")
    ]
    verdict = alignment.verdict
    translations = {word: alignment.translate(word, k=3) for word in _WORDS}
    if as_json:
        print_json(
            {
                "seconds": record["seconds"],
                "verdict": record["verdict"],
                "evaluation": [result.to_json() for result in results],
                "translations": translations,
                "output": str(output),
            }
        )
        exit_with(verdict)
        return
    typer.echo("")
    print_text(
        f"Aligned in {sum(alignment.seconds.values()):.1f} s.{'' if verdict is None else f' Verdict: {verdict}'}"
    )
    typer.echo("Right translations on the shipped lexicon, in % (95 % interval):\n")
    print_evaluations(results)
    typer.echo("\nSome translations, best first:\n")
    for word, found in translations.items():
        typer.echo(f"  {word:12} {', '.join(label for label, _ in found)}")
    typer.echo(f"\nWritten to {output}/: map.safetensors, lexicon.tsv ({record['lexicon']['pairs']:,} pairs), run.json")
    typer.echo(f"Next, more translations:      damastes translate {output} WORD")
    typer.echo("Or, with your own vectors:    damastes align SOURCE TARGET -o DIR")
    exit_with(verdict)
