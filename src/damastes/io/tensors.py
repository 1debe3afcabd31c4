"""safetensors: a matrix, and its words as UTF-8 bytes with offsets; or a matrix alone with a vocabulary file."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from damastes._arrays import NumpyArray
from damastes.errors import FileFormatError
from damastes.io.findings import Block, Findings
from damastes.io.npy import float32, rows_at_once

__all__ = ["TensorsReader", "tensors_around"]

_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_OFFSETS, _BYTES = "word_offsets", "word_bytes"


class TensorsReader:
    """Rows of the only floating matrix of a safetensors file."""

    format = "safetensors"

    def __init__(self, path: Path, findings: Findings, words: Callable[[], list[str]]) -> None:
        self._findings = findings
        self._outside_words = words
        self._tensors = self._open(path)
        matrices = [name for name, tensor in self._tensors.items() if tensor.ndim == 2 and tensor.dtype.kind == "f"]
        if len(matrices) != 1 or self._tensors[matrices[0]].shape[1] < 1:
            seen = ", ".join(f"{name} {tensor.shape}" for name, tensor in self._tensors.items())
            raise findings.fail("", "one floating matrix (n, d)", seen[:200] or "no tensors")
        self._matrix = self._tensors[matrices[0]]
        self.n, self.dimension = self._matrix.shape

    def _open(self, path: Path) -> dict[str, NumpyArray]:
        """Return views of the file: nothing is read before it is used."""
        from safetensors import SafetensorError, safe_open

        try:
            # It checks the header against the file; the arrays themselves are mapped, not copied.
            with safe_open(path, framework="numpy"):
                pass
            with path.open("rb") as file:
                (length,) = struct.unpack("<Q", file.read(8))
                about: dict[str, Any] = json.loads(file.read(length))
        except (SafetensorError, OSError, ValueError) as error:
            raise FileFormatError(
                f"{path}: expected safetensors, but the file is damaged, cut off or something else ({error})"
            ) from None
        about.pop("__metadata__", None)
        kinds = {**_FLOATS, "I64": "<i8", "U8": "u1"}
        return {
            name: _mapped(
                path, np.dtype(kinds[tensor["dtype"]]), 8 + length + tensor["data_offsets"][0], tensor["shape"]
            )
            for name, tensor in about.items()
            if tensor["dtype"] in kinds
        }

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Yield the rows with their words."""
        n = self.n if limit is None else min(limit, self.n)
        inside = _OFFSETS in self._tensors and _BYTES in self._tensors
        outside: list[str] = [] if inside else self._outside_words()
        if not inside and len(outside) != self.n:
            raise self._findings.fail("", f"a vocabulary of {self.n} words, one a row", f"{len(outside)}")
        step = rows_at_once(4 * self.dimension)
        for start in range(0, n, step):
            stop = min(start + step, n)
            yield Block(self._words(start, stop) if inside else outside[start:stop], float32(self._matrix[start:stop]))

    def _words(self, start: int, stop: int) -> list[str]:
        offsets, text = self._tensors[_OFFSETS], self._tensors[_BYTES]
        if offsets.shape != (self.n + 1,) or text.ndim != 1:
            raise self._findings.fail(_OFFSETS, f"shape ({self.n + 1},) beside bytes", f"{offsets.shape}, {text.shape}")
        ends = offsets[start : stop + 1].tolist()
        if ends[0] < 0 or ends[-1] > len(text) or sorted(ends) != ends:
            raise self._findings.fail(_OFFSETS, f"increasing places in {len(text)} bytes", f"{ends[0]} to {ends[-1]}")
        return [bytes(text[a:b]).decode("utf-8", "replace") for a, b in pairwise(ends)]


def _mapped(path: Path, dtype: np.dtype[Any], offset: int, shape: list[int]) -> NumpyArray:
    if 0 in shape:
        return np.empty(shape, dtype=dtype)  # an empty file region can not be mapped
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=tuple(shape))


def tensors_around(words: list[str], shape: tuple[int, int]) -> tuple[bytes, bytes]:
    """Return what comes before the bytes of the matrix in a safetensors file, and what comes after."""
    encoded = [word.encode("utf-8", "replace") for word in words]
    offsets = np.zeros(len(words) + 1, dtype="<i8")
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    about: dict[str, Any] = {"__metadata__": {"format": "damastes.vectors"}}
    start = 0
    # In this order every tensor begins at a multiple of the size of its numbers.
    for name, kind, lengths, size in (
        (_OFFSETS, "I64", [len(offsets)], offsets.nbytes),
        ("vectors", "F32", list(shape), 4 * shape[0] * shape[1]),
        (_BYTES, "U8", [int(offsets[-1])], int(offsets[-1])),
    ):
        about[name] = {"dtype": kind, "shape": lengths, "data_offsets": [start, start + size]}
        start += size
    header = json.dumps(about).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + offsets.tobytes(), b"".join(encoded)
