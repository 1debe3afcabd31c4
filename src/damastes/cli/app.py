"""The application: commands, and how errors reach the person at the terminal."""

from __future__ import annotations

import signal
import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer

from damastes.cli import terminal
from damastes.cli.align import align
from damastes.cli.apply import apply
from damastes.cli.convert import convert
from damastes.cli.demo import demo
from damastes.cli.evaluate import evaluate
from damastes.cli.fetch import fetch
from damastes.cli.info import info
from damastes.cli.lexicon import lexicon
from damastes.cli.reproduce import reproduce
from damastes.cli.translate import translate
from damastes.errors import InputError

__all__ = ["main"]

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143

app = typer.Typer(
    help="Align two embedding spaces when nobody knows which point corresponds to which.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, align, evaluate, translate, lexicon, apply, convert, info, fetch, reproduce):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"damastes {version('damastes')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors; also after a command.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    terminal.debug = terminal.debug or debug


def main() -> None:
    """Run the command line: 0 on success, 2 on bad input, 3 when the verdict is "failed", 130 when interrupted."""
    warnings.showwarning = _show_warning
    # What a command was writing is removed when it is asked to end, as when it is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    arguments = sys.argv[1:]
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    terminal.debug = "--debug" in own
    arguments = [argument for argument in own if argument != "--debug"] + arguments[len(own) :]
    sys.exit(_run(arguments or ["--help"]))


def _run(arguments: list[str]) -> int:
    try:
        status = app(arguments, prog_name="damastes", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except InputError as error:
        return _fail(error, str(error), BAD_INPUT)
    except _UsageError as error:
        return _fail(error, _usage(error), BAD_INPUT)
    except OSError as error:
        return _fail(error, _system(error), BAD_INPUT if isinstance(error, _PATH_ERRORS) else 1)
    except (MemoryError, ImportError) as error:
        return _fail(error, str(error) or type(error).__name__, 1)
    if status == INTERRUPTED:
        typer.echo("damastes: interrupted", err=True)
    return status if isinstance(status, int) else 0


# Typer brings its own copy of click or uses the installed one, by version; this is the class in either.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]


# What a wrong path leads to; other errors of the system, such as a full disk, are nobody's input.
_PATH_ERRORS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def _system(error: OSError) -> str:
    path = error.filename2 or error.filename
    return f"{path}: {error.strerror}" if path and error.strerror else str(error) or type(error).__name__


def _usage(error: Any) -> str:
    message = " ".join(error.format_message().replace("Value error, ", "").split())
    name = error.ctx.command_path if error.ctx is not None else "damastes"
    return f"{message} See '{name} --help'."


def _fail(error: Exception, message: str, status: int) -> int:
    if terminal.debug:
        raise error
    typer.echo(f"damastes: {message}", err=True)
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    terminal.note(str(message))
