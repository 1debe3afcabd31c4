"""Write a file at once or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO

__all__ = ["atomic_writer"]


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` and rename it there when the block ends well; otherwise leave nothing behind."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not a file of `tempfile`: those are for their owner's eyes only, and stay so under their new name.
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    with part.open("xb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink()
            raise
