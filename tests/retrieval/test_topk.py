from __future__ import annotations

import numpy as np
import pytest

from damastes.retrieval.topk import largest, row_blocks, top_k
from planted import assert_same_kind


# 40 × 2k groups of 16 and a rest: wide enough for NumPy's fast path at k = 3, too narrow for it at k = 30.
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (7, 5), (40, 333), (333, 40), (100, 160)])
@pytest.mark.parametrize("k", [1, 3, 30])
class TestAgainstSorting:
    def test_rows(self, asarray, dtype, rng, shape, k):
        scores = asarray(rng.standard_normal(shape), dtype)
        k = min(k, shape[1])
        values, columns = top_k(scores, k)
        assert_same_kind(values, scores)
        plain = np.from_dlpack(scores)
        np.testing.assert_array_equal(np.from_dlpack(columns), np.argsort(-plain, axis=1)[:, :k])
        np.testing.assert_array_equal(np.from_dlpack(values), -np.sort(-plain, axis=1)[:, :k])

    @pytest.mark.parametrize("axis", [0, 1])
    def test_values_alone(self, asarray, dtype, rng, shape, k, axis):
        scores = asarray(rng.standard_normal(shape), dtype)
        values = largest(scores, k, axis=axis)
        assert_same_kind(values, scores)
        plain = np.from_dlpack(scores)
        expected = np.sort(plain if axis else plain.T, axis=1)[:, ::-1][:, :k]
        np.testing.assert_array_equal(np.sort(np.from_dlpack(values), axis=1)[:, ::-1], expected)


@pytest.mark.parametrize(
    "library_path",
    [
        top_k,
        lambda scores, k: (largest(scores, k, axis=1), None),
        lambda scores, k: (largest(scores.T, k, axis=0), None),
    ],
)
def test_the_largest_entries_may_all_be_in_one_group(library_path):
    scores = np.zeros((2, 400))
    scores[0, 16:32] = np.arange(1, 17)
    scores[1, ::25] = np.arange(1, 17)
    values = np.sort(library_path(scores, 5)[0], axis=1)
    np.testing.assert_array_equal(values, [[12, 13, 14, 15, 16]] * 2)


def test_ties_are_all_as_good():
    values, columns = top_k(np.ones((3, 100)), 4)
    np.testing.assert_array_equal(values, 1)
    assert all(len(set(row)) == 4 for row in columns)


class TestRowBlocks:
    @pytest.mark.parametrize(
        ("n", "m", "entries"), [(10, 7, 21), (10, 7, 1), (10, 100, 50), (1, 1, 100), (5000, 3, 10**9)]
    )
    def test_cover_every_row_once_within_the_budget(self, monkeypatch, n, m, entries):
        monkeypatch.setattr("damastes.retrieval.topk.BLOCK_ENTRIES", entries)
        blocks = list(row_blocks(n, m))
        np.testing.assert_array_equal(np.concatenate([np.arange(n)[block] for block in blocks]), np.arange(n))
        assert all((block.stop - block.start) * m <= max(entries, m) for block in blocks)

    def test_no_rows_are_no_blocks(self):
        assert list(row_blocks(0, 5)) == []
