"""`damastes align`: two vector files in, a map and a lexicon out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.run import write_run
from damastes.cli.terminal import print_json, progress_bar

__all__ = ["align"]


def align(
    source: Annotated[Path, typer.Argument(help="Vectors to map: .npz or word2vec text.")],
    target: Annotated[Path, typer.Argument(help="Vectors to map them to.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for the map, the lexicon and the record.")],
    limit: Annotated[int, typer.Option(min=1, help="Read at most so many vectors of each file.")] = 200_000,
    recipe: Annotated[str, typer.Option(help="default, paper or authors.")] = "default",
    pairs: Annotated[Path | None, typer.Option(help="Known pairs to learn from: a file of two columns.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Align two files of word vectors without a dictionary.

    Example: damastes align wiki.en.vec wiki.es.vec -o en-es
    """
    import damastes
    from damastes.errors import InputError

    clouds = [damastes.read_vectors(path, limit=limit) for path in (source, target)]
    known: list[tuple[str, str]] | None = None
    if pairs is not None:
        listed = damastes.read_lexicon(pairs)
        known = [pair for pair in listed if pair[0] in clouds[0] and pair[1] in clouds[1]]
        if not known:
            raise InputError(f"{pairs}: none of its {len(listed)} pairs has both words in the vocabularies")
        typer.echo(f"known pairs: {len(known)} of {len(listed)} are in the vocabularies", err=True)
    with progress_bar() as progress:
        alignment = damastes.align(*clouds, recipe=recipe, pairs=known, random_state=seed, progress=progress)
    options = {"limit": limit, "recipe": recipe, "pairs": None if pairs is None else str(pairs), "seed": seed}
    record = write_run(output, alignment, {"source": source, "target": target}, options)
    if as_json:
        print_json(record)
        return
    seconds = sum(alignment.seconds.values())
    typer.echo(f"aligned {len(clouds[0]):,} with {len(clouds[1]):,} vectors in {seconds:.1f} s")
    typer.echo(f"{output}: map.safetensors, lexicon.tsv ({record['lexicon']['pairs']:,} pairs), run.json")
