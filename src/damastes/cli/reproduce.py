"""`damastes reproduce`: the paper's tables, figure and claims, each beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from damastes.cli.options import AsJson
from damastes.cli.run import check_output
from damastes.cli.terminal import cells_bar, print_json
from damastes.errors import InputError
from damastes.experiments import NAMES

__all__ = ["reproduce"]


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help=f"What to reproduce: {', '.join(NAMES)}, or all.", show_default=False),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Vectors and lexicons: what 'damastes fetch' brings, or vectors/, lexicons/ and toy/. "
            "Without it, the shipped sample.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where results are kept and written.")
    ] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and steps, smaller clouds: minutes.")] = False,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many seeds, instead of the experiment's own number.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A text to train the toy vectors of table1 on, as the paper did."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute everything again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Regenerate the paper's tables, figure and claims beside ours.

    Each is written as NAME.json and NAME.md (and, for a figure, PNG and SVG). What is finished is kept: an interrupted run
    goes on where it stopped.

    Example: damastes reproduce table4 --quick
    """
    from damastes.experiments import experiment
    from damastes.experiments.cells import Setting
    from damastes.experiments.data import Data
    from damastes.experiments.running import run

    asked = [experiment(name) for name in dict.fromkeys(names) if name != "all"]
    chosen = [experiment(name) for name in NAMES] if "all" in names else asked
    check_output(output)
    if corpus is not None and not corpus.is_file():
        raise InputError(f"{corpus}: there is no such file; --corpus expects a text to train on")
    if corpus is not None and [work.name for work in chosen] != ["table1"]:
        raise InputError(f"--corpus is for table1 alone, got it with {' '.join(names)}; run that by itself")
    setting = Setting(Data.open(data), quick=quick, seeds=seeds, corpus=corpus)
    for work in chosen:
        work.needs(setting)  # before the first of them takes its time
    records: dict[str, Mapping[str, Any]] = {}
    for work in chosen:
        with cells_bar(work.name) as watch:
            command = _command(work.name, data=data, quick=quick, seeds=seeds, corpus=corpus)
            outcome = run(work, setting, output, command=command, fresh=fresh, done_before=records, watch=watch)
        records[work.name] = outcome.record
        if not as_json:
            kept = f" (cells that were there already: {outcome.n_kept})" if outcome.n_kept else ""
            typer.echo(outcome.layout.to_text())
            typer.echo(f"Written to {output}/: {', '.join(outcome.files)}{kept}\n")
    if as_json:
        print_json(records[chosen[0].name] if len(chosen) == 1 else records)


def _command(name: str, *, data: Path | None, quick: bool, seeds: int | None, corpus: Path | None) -> str:
    """The command as another person would type it: where folders are on this machine is nobody's business."""
    options = [
        *(["--data DIR"] if data else []),
        *(["--quick"] if quick else []),
        *([f"--seeds {seeds}"] if seeds else []),
        *([f"--corpus {corpus.name}"] if corpus else []),
    ]
    return " ".join(["damastes reproduce", name, *options])
