"""What damastes raises."""

from __future__ import annotations


class InputError(ValueError):
    """An argument can not be used; the message names it, the rule, what was seen and the remedy."""


class FileFormatError(InputError):
    """A file can not be read; the message names the file, the place in it, what was expected and what was seen."""


class TransferError(OSError):
    """A download did not arrive, or is not what it should be; the message says what to do."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message says what to install."""
