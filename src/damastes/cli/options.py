"""Options that several commands have, and how their words become objects."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from damastes.retrieval import Retriever

__all__ = ["AsJson", "Directory", "Retrieval", "SkipBadLines", "retrievers"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="What 'damastes align' wrote.", show_default=False)]
SkipBadLines = Annotated[bool, typer.Option("--skip-bad-lines", help="Leave out lines that can not be read.")]


class Retrieval(StrEnum):
    """Retrieval criteria by name."""

    nn = "nn"
    csls = "csls"
    isf = "isf"


def retrievers() -> dict[str, Retriever]:
    """The retrieval criteria by name."""
    from damastes.retrieval import CSLS, ISF, Nearest

    return {"nn": Nearest(), "csls": CSLS(), "isf": ISF()}
