from __future__ import annotations

import numpy as np
import pytest

from damastes import Frame
from planted import assert_same_kind, cloud, orthogonal


@pytest.fixture
def points(rng):
    return rng.uniform(0.5, 4, (60, 1)) * (cloud(60, 4, rng) + np.array([1, 0.5, 0, -0.5]))


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


class TestFrame:
    @pytest.mark.parametrize("centre", [True, False])
    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_undo_brings_raw_vectors_back_also_unseen_ones(self, asarray, dtype, rng, points, centre, power):
        frame = Frame(centre=centre, power=power).fit(asarray(points, dtype))
        unseen = asarray(cloud(20, 4, rng) + 0.3, dtype)
        for vectors in (asarray(points, dtype), unseen):
            framed = frame(vectors)
            assert_same_kind(framed, vectors)
            raw = np.from_dlpack(vectors)
            lengths = asarray(np.linalg.norm(raw, axis=1), dtype)
            back = frame.undo(framed, lengths=lengths)
            assert_same_kind(back, vectors)
            np.testing.assert_allclose(np.from_dlpack(back), raw, atol=2e-3 if dtype == "float32" else 1e-10)
            np.testing.assert_allclose(
                np.from_dlpack(frame.undo(framed)), unit(raw), atol=1e-3 if dtype == "float32" else 1e-10
            )

    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_a_vector_is_framed_alike_whatever_comes_with_it(self, points, power):
        frame = Frame(power=power).fit(points)
        np.testing.assert_allclose(frame(points[7:8]), frame(points)[7:8], atol=1e-12)

    def test_is_unit_centre_unit(self, asarray, points):
        frame = Frame().fit(asarray(points))
        centred = unit(points) - unit(points).mean(0)
        np.testing.assert_allclose(np.from_dlpack(frame(asarray(points))), unit(centred), atol=1e-12)
        assert frame.length == pytest.approx(np.linalg.norm(points, axis=1).mean())

    def test_without_centring_only_lengths_change(self, points):
        np.testing.assert_allclose(Frame(centre=False).fit(points)(points), unit(points), atol=1e-12)

    def test_a_power_flattens_the_spectrum(self, points):
        plain, half = (Frame(power=power).fit(points) for power in (1.0, 0.5))
        before = np.linalg.svd(plain(points), compute_uv=False)
        after = np.linalg.svd(plain(points) @ half.stretch, compute_uv=False)
        # σ of the mean second moment, hence the √n.
        np.testing.assert_allclose(after / np.sqrt(60), (before / np.sqrt(60)) ** 0.5, rtol=1e-10)
        np.testing.assert_allclose(half(points), unit(plain(points) @ half.stretch), atol=1e-12)

    def test_a_power_stays_tame_on_flat_clouds(self, asarray, dtype, points):
        flat = asarray(np.pad(points, ((0, 0), (0, 2))), dtype)
        frame = Frame(power=0.5).fit(flat)
        assert np.isfinite(np.from_dlpack(frame(flat))).all()
        assert np.abs(np.from_dlpack(frame.stretch)).max() < 100

    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_a_rotation_of_the_cloud_rotates_the_frame(self, rng, points, power):
        Q = orthogonal(4, 4, rng)
        np.testing.assert_allclose(
            Frame(power=power).fit(points @ Q)(points @ Q), Frame(power=power).fit(points)(points) @ Q, atol=1e-10
        )

    def test_the_length_of_vectors_does_not_matter(self, rng, points):
        scaled = rng.uniform(0.1, 10, (60, 1)) * points
        np.testing.assert_allclose(
            Frame(power=0.5).fit(scaled)(scaled), Frame(power=0.5).fit(points)(points), atol=1e-10
        )

    def test_a_zero_vector_has_a_place_too(self, points):
        framed = Frame().fit(points)(np.zeros((1, 4)))
        assert np.linalg.norm(framed) == pytest.approx(1)


class TestRidge:
    @pytest.mark.parametrize("ridge", [1e-3, 1.5, 1e4])
    def test_undo_brings_raw_vectors_back_also_unseen_ones(self, asarray, dtype, rng, points, ridge):
        frame = Frame(ridge=ridge).fit(asarray(points, dtype))
        for vectors in (asarray(points, dtype), asarray(cloud(20, 4, rng) + 0.3, dtype)):
            framed = frame(vectors)
            assert_same_kind(framed, vectors)
            raw = np.from_dlpack(vectors)
            np.testing.assert_allclose(np.linalg.norm(np.from_dlpack(framed), axis=1), 1, atol=1e-5)
            back = frame.undo(framed, lengths=asarray(np.linalg.norm(raw, axis=1), dtype))
            assert_same_kind(back, vectors)
            np.testing.assert_allclose(np.from_dlpack(back), raw, atol=2e-3 if dtype == "float32" else 1e-10)

    def test_divides_by_the_root_of_variance_plus_ridge(self, points):
        plain = Frame().fit(points)(points)
        values, vectors = np.linalg.eigh(plain.T @ plain / len(plain))
        expected = plain @ (vectors / np.sqrt(values / values.mean() + 0.7)) @ vectors.T
        np.testing.assert_allclose(Frame(ridge=0.7).fit(points)(points), unit(expected), atol=1e-10)

    def test_a_large_ridge_is_the_plain_frame_and_a_small_one_whitens(self, points):
        plain = Frame().fit(points)
        np.testing.assert_allclose(Frame(ridge=1e9).fit(points)(points), plain(points), atol=1e-7)
        white = plain(points) @ Frame(ridge=1e-9).fit(points).stretch
        np.testing.assert_allclose(np.linalg.cond(white.T @ white), 1, atol=1e-5)
        spreads = [np.linalg.cond(plain(points) @ Frame(ridge=r).fit(points).stretch) for r in (1e-3, 0.1, 1, 10, 1e3)]
        assert spreads == sorted(spreads)

    @pytest.mark.parametrize("d_target", [4, 7])
    def test_isometric_clouds_stay_isometric(self, asarray, dtype, rng, points, d_target):
        """Also when one of them lies in a larger space."""
        Q = orthogonal(4, d_target, rng)
        framed, there = (
            np.from_dlpack(Frame(ridge=1.5).fit(asarray(Z, dtype))(asarray(Z, dtype))) for Z in (points, points @ Q)
        )
        np.testing.assert_allclose(there, framed @ Q, atol=1e-4 if dtype == "float32" else 1e-10)

    @pytest.mark.parametrize("flat", [np.ones((9, 3)), np.eye(3)[[0] * 9], np.eye(3)[[0, 1] * 5]])
    def test_clouds_without_spread_stay_finite(self, asarray, dtype, flat):
        frame = Frame(ridge=1.5).fit(asarray(flat, dtype))
        framed = frame(asarray(flat, dtype))
        assert np.isfinite(np.from_dlpack(framed)).all()
        np.testing.assert_allclose(np.from_dlpack(frame.undo(framed)), unit(flat), atol=1e-3)

    @pytest.mark.parametrize(
        "options", [{"ridge": r} for r in (0, -1.0, np.nan, np.inf)] + [{"ridge": 1.0, "power": 0.5}]
    )
    def test_bad_ridges_are_refused(self, options):
        with pytest.raises(ValueError, match="ridge must be a number above 0, and power 1 with it, got ridge"):
            Frame(**options).fit(np.eye(3))


class TestInput:
    @pytest.mark.parametrize("power", [0, -0.5, 1.5, np.nan])
    def test_power_is_above_zero_and_at_most_one(self, power):
        with pytest.raises(ValueError, match="power must be above 0 and at most 1"):
            Frame(power=power).fit(np.eye(3))

    @pytest.mark.parametrize(
        ("points", "message"),
        [
            (np.array([[1.0, np.nan]]), "points must hold finite"),
            (np.ones(3), "points must be 2-D"),
            (np.ones((0, 3)), "points must hold at least"),
        ],
    )
    def test_bad_points_are_named(self, points, message):
        with pytest.raises(ValueError, match=message):
            Frame().fit(points)

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            (np.ones((2, 3)), "vectors must have 4 coordinates, got 3"),
            (np.ones((2, 1)), "vectors must have 4 coordinates, got 1"),
            (np.full((2, 4), np.inf), "vectors must hold finite"),
            (np.ones(4), "vectors must be 2-D"),
        ],
    )
    def test_bad_vectors_are_named(self, points, vectors, message):
        frame = Frame().fit(points)
        for use in (frame, frame.undo):
            with pytest.raises(ValueError, match=message):
                use(vectors)

    @pytest.mark.parametrize("scale", [1e-20, 1e20])
    def test_lengths_that_float32_can_not_square_are_refused(self, rng, scale):
        cloud = scale * rng.standard_normal((5, 3))
        with pytest.raises(ValueError, match=r"lengths from 1e-15 to 1e\+15; that of row 0 is .* Scale all vectors"):
            Frame().fit(cloud.astype(np.float32))
        framed = Frame().fit(cloud)(cloud)
        np.testing.assert_allclose(np.linalg.norm(framed, axis=1), 1)

    def test_bad_lengths_are_named(self, points):
        frame = Frame().fit(points)
        with pytest.raises(ValueError, match=r"lengths must hold one length a vector, shape \(60,\), got shape \(5,\)"):
            frame.undo(frame(points), lengths=np.ones(5))
