"""A finished table, a page of several, and their three writers: text, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

__all__ = ["Layout", "Page", "Row", "percent", "spread"]

_QUICK = "QUICK: fewer seeds and steps and smaller clouds than the full experiment"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: its name, and as many values as there are columns; `theirs` marks the paper's own numbers."""

    name: str
    values: Sequence[str]
    theirs: bool = False

    @property
    def label(self) -> str:
        """The name, marked when the numbers are the paper's."""
        return f"{self.name} (theirs)" if self.theirs else self.name


@dataclass(frozen=True, slots=True)
class Layout:
    """A table to be read: `columns` name the values of the rows, `corner` what the rows are.

    `measured` says on what: the number of evaluation words, their coverage, the seeds; `theirs` the same of the paper's numbers.
    `notes` define and explain. `claim` is what the paper says, above the table, and `answer` what the table says to it, below.
    """

    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[Row]
    measured: Sequence[str]
    notes: Sequence[str] = field(default=())
    quick: bool = False
    claim: str = ""
    answer: str = ""
    theirs: str = "measured on their vectors with a 200k vocabulary"

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row.values) == len(self.columns), f"row {row.name!r} does not fit the columns"

    def footnotes(self) -> list[str]:
        """All that stands under the table."""
        theirs = (
            [f"theirs: published in the paper, {self.theirs}; not measured here"]
            if any(row.theirs for row in self.rows)
            else []
        )
        return [*([_QUICK] if self.quick else []), *self.measured, *theirs, *self.notes]

    def to_text(self) -> str:
        """The table for a terminal."""
        table = [[self.corner, *self.columns], *([row.label, *row.values] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for number, cells in enumerate(table):
            # The paper's numbers stand apart from ours.
            if number and self.rows[number - 1].theirs != (number > 1 and self.rows[number - 2].theirs):
                lines.append("")
            first = cells[0].ljust(widths[0])
            rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
            lines.append("  ".join([first, *rest]).rstrip())
        return self._assembled(_heading(self.title, self.quick), lines, emphasis="")

    def to_markdown(self, *, level: int = 1) -> str:
        """The table for a page, under a heading of this level."""
        lines = [
            _markdown_row([self.corner, *self.columns]),
            _markdown_row(["---", *("---:" for _ in self.columns)]),
            *(_markdown_row([row.label, *row.values]) for row in self.rows),
        ]
        return self._assembled(f"{'#' * level} {_heading(self.title, self.quick)}", lines, emphasis="**")

    def to_json(self) -> dict[str, Any]:
        """The table for machines."""
        return {
            "title": self.title,
            "quick": self.quick,
            "columns": [self.corner, *self.columns],
            "rows": [{"name": row.name, "values": list(row.values), "theirs": row.theirs} for row in self.rows],
            "notes": self.footnotes(),
            **({"claim": self.claim, "answer": self.answer} if self.claim else {}),
        }

    def _assembled(self, heading: str, table: list[str], *, emphasis: str) -> str:
        claim = [f"{emphasis}The paper:{emphasis} {self.claim}", ""] if self.claim else []
        answer = [f"{emphasis}Here:{emphasis} {self.answer}", ""] if self.answer else []
        notes = (f"- {note}" for note in self.footnotes())
        return "\n".join([heading, "", *claim, *table, "", *answer, *notes]) + "\n"


@dataclass(frozen=True, slots=True)
class Page:
    """Several tables under one title."""

    title: str
    parts: Sequence[Layout]
    quick: bool = False

    def to_text(self) -> str:
        """All tables for a terminal."""
        return "\n\n".join([_heading(self.title, self.quick), *(part.to_text() for part in self.parts)])

    def to_markdown(self) -> str:
        """All tables for a page."""
        return "\n".join(
            [f"# {_heading(self.title, self.quick)}\n", *(part.to_markdown(level=2) for part in self.parts)]
        )

    def to_json(self) -> dict[str, Any]:
        """All tables for machines."""
        return {"title": self.title, "quick": self.quick, "parts": [part.to_json() for part in self.parts]}


def _heading(title: str, quick: bool) -> str:
    return f"{title} (quick)" if quick else title


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def spread(values: Sequence[float], *, digits: int = 1) -> str:
    """Mean ± standard deviation over seeds; of one value, the value."""
    text = f"{mean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {stdev(values):.{digits}f}"


def percent(shares: Sequence[float], *, digits: int = 1) -> str:
    """The same of shares, in %."""
    return spread([100 * share for share in shares], digits=digits)
