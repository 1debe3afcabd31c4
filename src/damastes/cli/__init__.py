"""The command line: one file a command. The only room that prints."""

from damastes.cli.app import main

__all__ = ["main"]
