"""The pieces of words that fastText has vectors for: runs of letters, hashed into buckets (Bojanowski et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from damastes._arrays import NumpyArray

__all__ = ["Subwords"]

_FNV_OFFSET, _FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)


@dataclass(frozen=True)
class Subwords:
    """Finds the rows of a model that belong to the pieces of words, of `minn` to `maxn` letters each."""

    n_words: int
    bucket: int
    minn: int
    maxn: int
    pruned: dict[int, int] | None = None

    def __call__(self, words: Sequence[str]) -> tuple[NumpyArray, NumpyArray]:
        """Return, for every piece, the position of its word and the row of its bucket; an empty word has no pieces."""
        none = np.zeros(0, dtype=np.int64)
        marked = [b"<" + word.encode("utf-8", "replace") + b">" if word else b"" for word in words]
        data = np.frombuffer(b"".join(marked), dtype=np.uint8)
        if self.maxn == 0 or self.bucket == 0 or not len(data) or self.pruned == {}:
            return none, none
        lengths = np.array([len(word) for word in marked])
        owner_of_byte = np.repeat(np.arange(len(words)), lengths)
        starts = np.flatnonzero((data & 0xC0) != 0x80)  # the first byte of each letter
        ends = np.append(starts[1:], len(data))
        owners = owner_of_byte[starts]
        first_of_word = np.append(True, owners[1:] != owners[:-1])
        last_of_word = np.append(owners[1:] != owners[:-1], True)

        begin = np.arange(len(starts))  # letters at which a piece begins
        hashes = np.full(len(starts), _FNV_OFFSET)
        found_owners, found_hashes = [], []
        for n in range(1, self.maxn + 1):
            letters = begin + n - 1
            inside = letters < len(starts)
            inside[inside] = owners[letters[inside]] == owners[begin[inside]]
            begin, hashes, letters = begin[inside], hashes[inside], letters[inside]
            if not len(begin):
                break
            hashes = _extend(hashes, data, starts[letters], ends[letters])
            if n >= self.minn:
                # The marks alone are no pieces.
                keep = ~(first_of_word[begin] | last_of_word[letters]) if n == 1 else np.ones(len(begin), dtype=bool)
                found_owners.append(owners[begin[keep]])
                found_hashes.append(hashes[keep])
        if not found_owners:
            return none, none
        buckets = (np.concatenate(found_hashes) % np.uint32(self.bucket)).astype(np.int64)
        return self._kept(np.concatenate(found_owners), buckets)

    def _kept(self, owners: NumpyArray, buckets: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
        if self.pruned is not None:
            places = np.array([self.pruned.get(bucket, -1) for bucket in buckets.tolist()], dtype=np.int64)
            owners, buckets = owners[places >= 0], places[places >= 0]
        return owners, self.n_words + buckets


def _extend(hashes: NumpyArray, data: NumpyArray, starts: NumpyArray, ends: NumpyArray) -> NumpyArray:
    """Take one more letter into each FNV-1a hash; like fastText, a byte counts with its sign."""
    signed = data.astype(np.int8).astype(np.int32).astype(np.uint32)
    hashes = hashes.copy()
    for k in range(int((ends - starts).max())):
        more = starts + k < ends
        hashes[more] = (hashes[more] ^ signed[starts[more] + k]) * _FNV_PRIME
    return hashes
