"""What the commands share at the terminal: progress, tables, JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from damastes._arrays import Progress
    from damastes.evaluation import Evaluation
    from damastes.experiments.running import Watch

__all__ = [
    "cells_bar",
    "note",
    "plain",
    "print_bands",
    "print_evaluations",
    "print_json",
    "print_text",
    "progress_bar",
    "size_text",
    "status",
]

debug = False

Unit = Literal["steps", "vectors", "bytes"]

_STAGES = {
    "relaxation": "convex start",
    "independent components": "independent axes",
    "stochastic": "stochastic steps",
    "self-learning": "self-learning",
    "alternating": "alternation",
    "refinement": "refinement",
    "rivals": "verdict: rivals",
}
# Between two plain lines of one stage, so that a log shows life and stays short.
_SECONDS_A_LINE = 10.0
_SECONDS_A_CELL_LINE = 60.0
# What the table of precisions needs when every share has its interval.
_WIDE = 92


def plain(value: Any) -> Any:
    """The value in types that JSON has: numbers that are not finite become null, as JSON has none."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def note(message: str) -> None:
    """Say something beside the result, on standard error."""
    typer.echo(f"note: {message}", err=True)


def size_text(n_bytes: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


@contextmanager
def status(message: str) -> Iterator[None]:
    """Show on a terminal what is being waited for; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


@contextmanager
def progress_bar(unit: Unit = "steps") -> Iterator[Progress]:
    """Show progress on standard error: bars on a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
        yield _plain_lines(unit)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description:18}"), BarColumn(), count, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}
        reached: dict[str, int] = {}

        def update(stage: str, done: int, total: int, info: Mapping[str, float]) -> None:
            if _begins(stage, done, reached):
                # A stage that ended early, having converged, is complete.
                for task in bars.tasks:
                    bars.update(task.id, total=task.completed)
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield update
        for task in bars.tasks:
            bars.update(task.id, total=task.completed)


@contextmanager
def cells_bar(name: str) -> Iterator[Watch]:
    """Show on standard error which cell of an experiment is at work: one bar on a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
        yield _plain_cells(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)

        def update(key: str, done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{name} {key} {doing}")

        yield update
        total = bar.tasks[0].total or 1  # nothing to do is done as well
        bar.update(task, completed=total, total=total, description=name)


def _plain_cells(name: str) -> Watch:
    last = 0.0

    def update(key: str, done: int, total: int, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if not doing or now - last >= _SECONDS_A_CELL_LINE:
            last = now
            typer.echo(f"{name}: {done + 1} of {total}, {key}{': ' if doing else ''}{doing}", err=True)

    return update


def _begins(stage: str, done: int, reached: dict[str, int]) -> bool:
    """Whether a stage is new or has begun once more; remembers how far it is."""
    begins = done < reached.get(stage, done + 1)
    reached[stage] = done
    return begins


def _plain_lines(unit: Unit) -> Progress:
    last: dict[str, float] = {}
    reached: dict[str, int] = {}

    def number(value: int) -> str:
        return size_text(value) if unit == "bytes" else f"{value:,}"

    def update(stage: str, done: int, total: int, info: Mapping[str, float]) -> None:
        now = time.monotonic()
        name = _STAGES.get(stage, stage)
        if _begins(stage, done, reached):
            last[stage] = now
            words = {"steps": f"up to {total:,} steps", "vectors": f"{total:,} vectors", "bytes": size_text(total)}
            typer.echo(f"{name}: {words[unit]}", err=True)
        elif now - last[stage] >= _SECONDS_A_LINE:
            last[stage] = now
            typer.echo(f"{name}: {number(done)} of {number(total)}", err=True)

    return update


def print_text(text: str) -> None:
    """Print a paragraph: broken between words at a terminal, one line for a pipe."""
    typer.echo(fill(text, get_terminal_size().columns) if sys.stdout.isatty() else text)


def print_evaluations(evaluations: list[Evaluation]) -> None:
    """Print precision at k as a table, with 95 % intervals: of all k when there is room, else of the first."""
    from rich.table import Table

    ks = list(evaluations[0].precision)
    console = _console()
    with_interval = ks if console.width >= _WIDE else ks[:1]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("direction", "retrieval", *(f"P@{k}" for k in ks), "words", "coverage"):
        table.add_column(heading, justify="left" if heading in ("direction", "retrieval") else "right", no_wrap=True)
    for result in evaluations:
        shares = [
            f"{100 * result.precision[k]:.1f}"
            + (f" ({100 * result.ci95[k][0]:.1f}–{100 * result.ci95[k][1]:.1f})" if k in with_interval else "")
            for k in ks
        ]
        row = [result.direction, result.retrieval, *shares, str(result.n_queries), f"{100 * result.coverage:.0f} %"]
        table.add_row(*row)
    console.print(table)


def print_bands(evaluations: list[Evaluation]) -> None:
    """Print P@1 by how frequent the asked word is; nothing when the vocabularies are in no order."""
    from rich.table import Table

    firsts = sorted({band.first for result in evaluations for band in result.bands})
    if not firsts:
        return
    ends = {band.first: band.last for result in evaluations for band in result.bands}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("direction", "retrieval"):
        table.add_column(heading, no_wrap=True)
    for first in firsts:
        # The last band ends with the vocabulary, and the two vocabularies need not be of one size.
        table.add_column(f"{first:,}–{ends[first]:,}" if first != firsts[-1] else f"from {first:,}", justify="right")
    for result in evaluations:
        bands = {band.first: band for band in result.bands}
        k = next(iter(result.precision))
        cells = [f"{100 * bands[f].precision[k]:.1f} ({bands[f].n_queries})" if f in bands else "–" for f in firsts]
        table.add_row(result.direction, result.retrieval, *cells)
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 110, highlight=False)
