"""What the commands share at the terminal: progress, tables, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from damastes._arrays import Progress
    from damastes.evaluation import Evaluation

__all__ = ["print_evaluations", "print_json", "progress_bar"]

debug = False

_STAGES = {
    "relaxation": "convex start",
    "stochastic": "stochastic steps",
    "alternating": "alternation",
    "refinement": "refinement",
}


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress on standard error: bars on a terminal, one line a stage otherwise."""
    if not sys.stderr.isatty():
        yield _stage_lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int, info: Mapping[str, float]) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done)

        yield update


def _stage_lines() -> Progress:
    seen: set[str] = set()

    def update(stage: str, done: int, total: int, info: Mapping[str, float]) -> None:
        if stage not in seen:
            seen.add(stage)
            typer.echo(f"{_STAGES.get(stage, stage)}: up to {total} steps", err=True)

    return update


def print_evaluations(evaluations: list[Evaluation]) -> None:
    """Print precision at k as a table, with 95 % intervals."""
    from rich.console import Console
    from rich.table import Table

    ks = list(evaluations[0].precision)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("direction", "retrieval", *(f"P@{k}" for k in ks), "words", "coverage"):
        table.add_column(heading, justify="left" if heading in ("direction", "retrieval") else "right")
    for result in evaluations:
        shares = [
            f"{100 * result.precision[k]:.1f} ({100 * result.ci95[k][0]:.1f}–{100 * result.ci95[k][1]:.1f})" for k in ks
        ]
        row = [result.direction, result.retrieval, *shares, str(result.n_queries), f"{100 * result.coverage:.0f} %"]
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 110).print(table)
