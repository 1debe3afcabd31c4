"""`damastes evaluate`: precision of an alignment on a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.run import read_run
from damastes.cli.terminal import print_evaluations, print_json

__all__ = ["evaluate"]


def evaluate(
    directory: Annotated[Path, typer.Argument(help="What 'damastes align' wrote.")],
    lexicon: Annotated[Path, typer.Option(help="Pairs of words, two columns.")],
    retrieval: Annotated[str, typer.Option(help="nn, csls, isf or all.")] = "csls",
    direction: Annotated[str, typer.Option(help="forward, backward or both.")] = "forward",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure an alignment on a lexicon: P@1, P@5, P@10.

    Example: damastes evaluate en-es --lexicon en-es.txt
    """
    import damastes
    from damastes.errors import InputError
    from damastes.retrieval import CSLS, ISF, Nearest, Retriever

    retrievers: dict[str, Retriever] = {"nn": Nearest(), "csls": CSLS(), "isf": ISF()}
    if retrieval != "all" and retrieval not in retrievers:
        raise InputError(f"--retrieval must be nn, csls, isf or all, got {retrieval!r}")
    if direction not in ("forward", "backward", "both"):
        raise InputError(f"--direction must be forward, backward or both, got {direction!r}")
    pairs = damastes.read_lexicon(lexicon)
    alignment = read_run(directory)
    results = [
        damastes.evaluate(alignment, pairs, retriever=retrievers[name], backward=backward)
        for backward in (False, True)
        if direction == "both" or (direction == "backward") == backward
        for name in (retrievers if retrieval == "all" else [retrieval])
    ]
    if as_json:
        values = [result.to_json() for result in results]
        print_json(values[0] if len(values) == 1 else values)
        return
    print_evaluations(results)
