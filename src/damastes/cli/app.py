"""The application: commands, and how errors reach the person at the terminal."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer

from damastes.cli import terminal
from damastes.cli.align import align
from damastes.cli.demo import demo
from damastes.cli.evaluate import evaluate
from damastes.errors import InputError

__all__ = ["main"]

app = typer.Typer(
    help="Align two embedding spaces when nobody knows which point corresponds to which.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(align)
app.command()(evaluate)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"damastes {version('damastes')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    terminal.debug = debug


def main() -> None:
    """Run the command line: 0 on success, 2 on bad input, 130 when interrupted."""
    warnings.showwarning = _show_warning
    try:
        app()
    except InputError as error:
        _fail(error, 2)
    except (MemoryError, OSError, ImportError) as error:
        _fail(error, 1)


def _fail(error: Exception, status: int) -> None:
    if terminal.debug:
        raise error
    typer.echo(f"damastes: {str(error) or type(error).__name__}", err=True)
    sys.exit(status)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"note: {message}", err=True)
