from __future__ import annotations

import numpy as np
import pytest

from damastes.procrustes import least_squares_procrustes, orthogonal_procrustes, polar
from planted import assert_same_kind, cloud, orthogonal, planted

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def with_singular_values(values, rng, shape=None):
    k = len(values)
    rows, columns = shape or (k, k)
    return orthogonal(rows, k, rng) @ np.diag(values) @ orthogonal(k, columns, rng)


def polar_by_svd(M):
    U, _, Vt = np.linalg.svd(M.astype(np.float64), full_matrices=False)
    return U @ Vt


class TestPolar:
    @pytest.mark.parametrize("shape", [(6, 6), (9, 6), (6, 9), (1, 1), (1, 4), (4, 1)])
    def test_well_conditioned_matrices_agree_with_the_svd(self, asarray, dtype, rng, shape):
        M = asarray(with_singular_values(rng.uniform(0.5, 2, min(shape)), rng, shape), dtype)
        Q = polar(M)
        assert_same_kind(Q, M)
        np.testing.assert_allclose(np.from_dlpack(Q), polar_by_svd(np.from_dlpack(M)), atol=TOLERANCE[dtype])

    @pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8])
    @pytest.mark.parametrize("shape", [(8, 8), (12, 8), (8, 12)])
    def test_badly_conditioned_matrices_give_an_optimal_orthogonal_matrix(self, dtype, rng, condition, shape):
        M = with_singular_values(np.geomspace(1, 1 / condition, 8), rng, shape).astype(dtype)
        Q = polar(M)
        gram = Q.T @ Q if shape[0] >= shape[1] else Q @ Q.T
        np.testing.assert_allclose(gram, np.eye(8), atol=TOLERANCE[dtype])
        # The maximiser of ⟨Q, M⟩ is ill-determined along small singular values; its value is not.
        best = np.linalg.svd(M.astype(np.float64), compute_uv=False).sum()
        assert float(np.sum(Q * M)) == pytest.approx(best, rel=TOLERANCE[dtype])

    @pytest.mark.parametrize("condition", [1.5, 10, 1e2, 1e4])
    def test_float64_agrees_with_the_svd_as_far_as_the_condition_allows(self, rng, condition):
        M = with_singular_values(np.geomspace(1, 1 / condition, 20), rng)
        np.testing.assert_allclose(polar(M), polar_by_svd(M), atol=1e-13 * condition)

    @pytest.mark.parametrize("values", [[0, 0, 0], [1, 0, 0], [3, 2, 0]])
    def test_rank_deficient_matrices_still_give_an_orthogonal_matrix(self, asarray, dtype, rng, values):
        M = asarray(with_singular_values(np.array(values, float), rng), dtype)
        Q = np.from_dlpack(polar(M))
        np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=TOLERANCE[dtype])
        assert float(np.sum(Q * np.from_dlpack(M))) == pytest.approx(sum(values), abs=1e-5)

    @pytest.mark.parametrize("scale", [1e-20, 1e-12, 1e12, 1e20])
    def test_the_scale_of_the_matrix_does_not_matter(self, asarray, dtype, rng, scale):
        M = with_singular_values(np.linspace(1, 2, 5), rng)
        Q = polar(asarray(scale * M, dtype))
        np.testing.assert_allclose(np.from_dlpack(Q), polar_by_svd(M), atol=TOLERANCE[dtype])

    def test_the_transpose_has_the_transposed_factor(self, dtype, rng):
        M = rng.standard_normal((4, 7)).astype(dtype)
        np.testing.assert_allclose(polar(M.T), polar(M).T, atol=TOLERANCE[dtype])

    def test_the_input_is_not_written_to(self, rng):
        M = rng.standard_normal((5, 5))
        before = M.copy()
        polar(M, rotation_only=True)
        np.testing.assert_array_equal(M, before)

    @pytest.mark.parametrize("d", [2, 3, 6])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_rotation_only_has_determinant_one(self, asarray, dtype, rng, d, sign):
        M = with_singular_values(np.linspace(1, 2, d), rng)
        M[0] *= sign * np.sign(np.linalg.det(M))
        M = asarray(M, dtype)
        Q = polar(M, rotation_only=True)
        assert_same_kind(Q, M)
        assert np.linalg.det(np.from_dlpack(Q)) == pytest.approx(1, abs=1e-4)

    @pytest.mark.parametrize("seed", range(5))
    def test_rotation_only_is_the_best_rotation_of_the_plane(self, seed):
        M = np.random.default_rng(seed).standard_normal((2, 2))
        angles = np.linspace(0, 2 * np.pi, 20_001)
        rotations = np.cos(angles) * (M[0, 0] + M[1, 1]) + np.sin(angles) * (M[1, 0] - M[0, 1])
        assert np.sum(polar(M, rotation_only=True) * M) == pytest.approx(rotations.max(), abs=1e-6)

    def test_rotation_only_needs_a_square_matrix(self):
        with pytest.raises(ValueError, match="rotation_only needs spaces of one dimension, got 2 and 3"):
            polar(np.ones((2, 3)), rotation_only=True)

    @pytest.mark.parametrize(
        ("M", "message"),
        [(np.array([[1, np.nan]]), "M must hold finite"), (np.ones(3), "M must be 2-D"), (np.ones((0, 2)), "at least")],
    )
    def test_bad_input_is_named(self, M, message):
        with pytest.raises(ValueError, match=message):
            polar(M)


class TestOrthogonalProcrustes:
    @pytest.mark.parametrize("d_target", [3, 5, 8])
    def test_planted_maps_come_back(self, asarray, dtype, d_target):
        problem = planted(50, 5, d_target=d_target)
        X, Y = asarray(problem.X, dtype), asarray(problem.Y[problem.permutation], dtype)
        Q = orthogonal_procrustes(X, Y)
        assert_same_kind(Q, X)
        np.testing.assert_allclose(np.from_dlpack(X @ Q), np.from_dlpack(Y), atol=1e-4 if dtype == "float32" else 1e-10)

    @pytest.mark.parametrize("d_target", [3, 5, 8])
    def test_at_the_optimum_the_mapped_cross_moment_is_symmetric_and_positive(self, rng, d_target):
        X, Y = rng.standard_normal((30, 5)), rng.standard_normal((30, d_target))
        Q = orthogonal_procrustes(X, Y)
        S = Q.T @ X.T @ Y if d_target <= 5 else X.T @ Y @ Q.T
        np.testing.assert_allclose(S, S.T, atol=1e-10)
        assert np.linalg.eigvalsh((S + S.T) / 2).min() > -1e-10

    def test_no_other_orthogonal_matrix_fits_better(self, rng):
        X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 6))
        best = np.linalg.norm(X @ orthogonal_procrustes(X, Y) - Y)
        others = [np.linalg.norm(X @ orthogonal(4, 6, rng) - Y) for _ in range(200)]
        assert best < min(others)

    def test_a_weight_of_two_is_a_point_given_twice(self, asarray, rng):
        X, Y = rng.standard_normal((10, 3)), rng.standard_normal((10, 3))
        weights = np.ones(10)
        weights[:4] = 2
        doubled = [np.concatenate([Z, Z[:4]]) for Z in (X, Y)]
        Q = orthogonal_procrustes(asarray(X), asarray(Y), weights=asarray(weights))
        np.testing.assert_allclose(np.from_dlpack(Q), orthogonal_procrustes(*doubled), atol=1e-10)

    def test_a_reflection_is_found_unless_only_rotations_are_allowed(self, rng):
        X = rng.standard_normal((20, 3))
        Y = X * [1, 1, -1]
        np.testing.assert_allclose(orthogonal_procrustes(X, Y), np.diag([1, 1, -1]), atol=1e-10)
        assert np.linalg.det(orthogonal_procrustes(X, Y, rotation_only=True)) == pytest.approx(1)


class TestLeastSquaresProcrustes:
    @pytest.mark.parametrize(("n", "d_x", "d_y"), [(50, 4, 4), (50, 4, 7), (50, 7, 2), (3, 5, 4)])
    def test_agrees_with_lstsq(self, asarray, dtype, rng, n, d_x, d_y):
        X, Y = rng.standard_normal((n, d_x)), rng.standard_normal((n, d_y))
        W = least_squares_procrustes(asarray(X, dtype), asarray(Y, dtype))
        assert_same_kind(W, asarray(X, dtype))
        expected = np.linalg.lstsq(X, Y, rcond=None)[0]
        np.testing.assert_allclose(np.from_dlpack(W), expected, atol=1e-3 if dtype == "float32" else 1e-10)

    @pytest.mark.parametrize("n", [8, 2000])
    @pytest.mark.parametrize("seed", range(10))
    def test_rank_deficient_input_gives_the_smallest_solution(self, dtype, n, seed):
        rng = np.random.default_rng(seed)
        # Exactly representable, so that the rank is 2 in float32 too.
        X = rng.integers(-3, 4, (n, 2)) @ rng.integers(-3, 4, (2, 3)).astype(float)
        Y = rng.standard_normal((n, 2))
        W = least_squares_procrustes(X.astype(dtype), Y.astype(dtype))
        expected = np.linalg.lstsq(X, Y, rcond=1e-10)[0]
        np.testing.assert_allclose(W, expected, atol=1e-3 if dtype == "float32" else 1e-10)

    def test_the_residual_is_orthogonal_to_the_weighted_source(self, asarray, rng):
        X, Y, w = rng.standard_normal((30, 4)), rng.standard_normal((30, 3)), rng.uniform(0.1, 1, 30)
        W = np.from_dlpack(least_squares_procrustes(asarray(X), asarray(Y), weights=asarray(w)))
        np.testing.assert_allclose(X.T @ (w[:, None] * (X @ W - Y)), 0, atol=1e-10)


@pytest.mark.parametrize("procrustes", [least_squares_procrustes, orthogonal_procrustes])
class TestBadInput:
    @pytest.mark.parametrize(
        ("source", "target", "message"),
        [
            (np.array([[1.0], [np.nan]]), np.ones((2, 1)), "source must hold finite numbers; row 1"),
            (np.ones((2, 1)), np.array([[np.inf], [1.0]]), "target must hold finite numbers; row 0"),
            (np.ones(3), np.ones((3, 1)), r"source must be 2-D.*reshape\(-1, 1\)"),
            (np.ones((0, 2)), np.ones((0, 2)), "at least 1 point"),
            (np.ones((2, 2)), np.ones((3, 2)), "matched row by row, got 2 and 3 rows"),
            (np.ones((2, 2)) * 1j, np.ones((2, 2)), "real numbers"),
            (np.array([["a", "b"]]), np.ones((1, 2)), "array of numbers"),
            ([[1.0, 2.0], [3.0]], np.ones((2, 2)), "array of numbers, got list"),
        ],
    )
    def test_bad_clouds_are_named(self, procrustes, source, target, message):
        with pytest.raises(ValueError, match=message):
            procrustes(source, target)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [([1, 1], "one weight a point"), ([1, 0, 1], "above 0"), ([1, -1, 1], "above 0"), ([1, np.nan, 1], "finite")],
    )
    def test_bad_weights_are_named(self, procrustes, weights, message):
        with pytest.raises(ValueError, match=message):
            procrustes(np.eye(3), np.eye(3), weights=weights)

    def test_two_libraries_do_not_mix(self, procrustes):
        torch = pytest.importorskip("torch")
        with pytest.raises(ValueError, match=r"one library, got numpy and torch"):
            procrustes(np.eye(3), torch.eye(3))

    def test_two_precisions_mix_to_the_wider(self, procrustes, asarray, rng):
        X, Y = cloud(9, 3, rng), cloud(9, 3, rng)
        mixed = procrustes(asarray(X, "float32"), asarray(Y))
        assert_same_kind(mixed, asarray(Y))
        np.testing.assert_allclose(np.from_dlpack(mixed), procrustes(X, Y), atol=1e-5)

    def test_lists_are_taken_for_numpy(self, procrustes):
        assert_same_kind(procrustes([[0, 1], [1, 0]], [[1, 0], [0, 1]]), np.ones(1, np.float32))
