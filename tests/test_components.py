"""Independent components: planted sources come back, whatever mixed them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import damastes.components
from damastes.components import independent_components, rank
from planted import assert_same_kind, orthogonal


def components(points, n_components, seed=0, **options):
    return independent_components(points, n_components, rng=np.random.default_rng(seed), **options)


@pytest.fixture
def sources(rng):
    """Five independent coordinates with mean 0, variance 1 and a positive skew."""
    drawn = np.stack([rng.gamma(shape, size=3000) for shape in (0.3, 0.6, 1.0, 1.5, 2.0)], axis=1)
    return (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)


@pytest.fixture
def mixed(sources, rng):
    return sources @ rng.standard_normal((5, 5)) + rng.standard_normal(5)


def correlations(S, T):
    """|correlation| of every column of S with every column of T."""
    k = S.shape[1]
    return np.abs(np.corrcoef(S.T, T.T)[:k, k:])


def assert_same_up_to_order(S, T, *, atol):
    """Every column of S is one of T's, signs included."""
    order = correlations(S, T).argmax(axis=1)
    assert sorted(order) == list(range(T.shape[1]))
    np.testing.assert_allclose(S, T[:, order], atol=atol)


class TestPlantedSources:
    def test_come_back_up_to_order(self, asarray, dtype, sources, mixed):
        found = components(asarray(mixed, dtype), 5)
        assert_same_kind(found, asarray(mixed, dtype))
        likeness = correlations(np.from_dlpack(found), sources)
        assert sorted(likeness.argmax(axis=1)) == list(range(5))
        assert likeness.max(axis=1).min() > 0.99

    def test_are_mixed_beyond_recognition_before(self, sources, mixed):
        """Otherwise the test above could not fail; principal directions do not find them either."""
        centred = mixed - mixed.mean(axis=0)
        principal = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
        assert correlations(mixed, sources).max(axis=1).min() < 0.9
        assert correlations(principal, sources).max(axis=1).min() < 0.9

    def test_come_back_from_a_larger_space(self, sources, rng):
        found = components(sources @ rng.standard_normal((5, 9)), 5)
        assert correlations(found, sources).max(axis=1).min() > 0.99

    def test_fewer_are_found_among_the_leading_directions(self, sources, rng):
        loud = sources * [1, 1, 1, 0.01, 0.01]
        found = components(loud @ orthogonal(5, 5, rng), 3)
        assert found.shape == (3000, 3)
        assert_same_up_to_order(found, sources[:, :3], atol=0.3)


class TestCoordinates:
    @pytest.mark.parametrize("n_components", [1, 2, 5])
    def test_have_mean_0_variance_1_no_correlation_and_a_positive_skew(self, asarray, dtype, mixed, n_components):
        S = np.from_dlpack(components(asarray(mixed, dtype), n_components)).astype(np.float64)
        atol = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(S.mean(axis=0), 0, atol=atol)
        np.testing.assert_allclose(S.T @ S / len(S), np.eye(n_components), atol=atol)
        assert ((S**3).mean(axis=0) > 0).all()

    def test_a_mirrored_cloud_has_the_same(self, mixed):
        """The sign of an axis is set by its skew, not by the first rotation."""
        assert_same_up_to_order(components(-mixed, 5, tol=1e-10), components(mixed, 5, tol=1e-10), atol=1e-3)

    def test_a_rotation_a_shift_and_a_scale_of_the_cloud_change_only_the_order(self, mixed, rng):
        turned = 7 * mixed @ orthogonal(5, 5, rng) + 3
        assert_same_up_to_order(components(turned, 5, tol=1e-10), components(mixed, 5, tol=1e-10), atol=1e-3)

    def test_the_first_rotation_changes_only_the_order(self, mixed):
        one, other = (components(mixed, 5, seed, tol=1e-10) for seed in (1, 2))
        assert not np.allclose(one, other, atol=0.1)
        assert_same_up_to_order(one, other, atol=1e-3)

    def test_the_signs_of_eigenvectors_do_not_matter(self, mixed, monkeypatch):
        """They are arbitrary, and array libraries choose them differently."""
        plain, centred = components(mixed, 3, max_iter=2), damastes.components._centred

        def mirrored(X):
            X, spectrum = centred(X)
            return X, replace(spectrum, vectors=spectrum.vectors * [1, -1, -1, 1, -1])

        monkeypatch.setattr(damastes.components, "_centred", mirrored)
        np.testing.assert_allclose(components(mixed, 3, max_iter=2), plain, atol=1e-10)

    def test_same_seed_same_bits_and_points_stay_untouched(self, mixed):
        before = mixed.copy()
        assert np.array_equal(components(mixed, 4), components(mixed, 4))
        assert np.array_equal(mixed, before)


class TestRank:
    def test_counts_directions_of_the_centred_cloud(self, asarray, dtype, rng):
        flat = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 7)) + 5
        assert rank(asarray(flat, dtype)) == 3
        assert rank(asarray(rng.standard_normal((4, 7)), dtype)) == 3
        assert rank(asarray(rng.standard_normal((40, 7)), dtype)) == 7
        assert rank(asarray(np.zeros((4, 7)), dtype)) == 0

    def test_is_the_most_components_there_can_be(self, asarray, dtype, rng):
        flat = asarray(rng.standard_exponential((40, 3)) @ rng.standard_normal((3, 7)), dtype)
        assert components(flat, 3).shape == (40, 3)
        with pytest.raises(ValueError, match="rank of the centred cloud, 3, got 4"):
            components(flat, 4)


@pytest.mark.parametrize(
    ("points", "n_components", "message"),
    [
        (np.eye(3), 0, "n_components must be from 1 to 3, got 0"),
        (np.eye(3), 4, "n_components must be from 1 to 3, got 4"),
        (np.eye(3), 3, "n_components must not exceed the rank of the centred cloud, 2, got 3"),
        (np.ones((5, 3)), 1, "n_components must not exceed the rank of the centred cloud, 0, got 1"),
        (np.array([[1.0, np.nan], [0, 1]]), 1, "points must hold finite"),
        (np.ones((1, 3)), 1, "points must hold at least 2 points"),
        (np.ones(3), 1, "points must be 2-D"),
    ],
)
def test_bad_input_is_named(points, n_components, message):
    with pytest.raises(ValueError, match=message):
        components(points, n_components)
