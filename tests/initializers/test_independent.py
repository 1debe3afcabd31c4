from __future__ import annotations

import numpy as np
import pytest

from damastes import Frame, samples
from damastes.initializers import IndependentComponents
from damastes.pairs import Pairs
from planted import assert_same_kind, cloud, orthogonal

NONE = Pairs.none()
QUICK = {"n_starts": 6, "n_kept": 2}


def start(X, Y, *, pairs=NONE, seed=0, **options):
    return IndependentComponents(**{**QUICK, **options})(X, Y, pairs=pairs, rng=np.random.default_rng(seed))


def words(n=600, d=100, *, d_target=None, extra=0, ordered=True, seed=0):
    """(X, Y, Q, partner): framed sample words, and a rotation of them with others among them, rows shuffled when asked."""
    rng = np.random.default_rng([seed, 5])
    d_target = d_target or d
    base = samples.load("en").matrix[: n + extra, :d].astype(np.float64)
    base = Frame().fit(base)(base)[:, : min(d, d_target)]
    Q = orthogonal(d, d_target, rng)
    X, Y = (base, base @ Q) if d <= d_target else (base @ Q.T, base)
    X = X[:n]
    if ordered:
        return X, Y, Q, np.arange(n)
    rows, order = rng.permutation(n), rng.permutation(len(Y))
    return X[rows], Y[order], Q, np.argsort(order)[:n][rows]


def found(X, Y, Q, partner):
    return np.mean((X @ Q @ Y.T).argmax(axis=1) == partner)


class TestPlantedRotation:
    @pytest.mark.parametrize(("d", "d_target"), [(100, 100), (100, 120), (120, 100)])
    @pytest.mark.parametrize(("ordered", "extra"), [(True, 200), (False, 40)], ids=["ordered", "unordered"])
    def test_is_found_with_unequal_sizes_and_dimensions(self, d, d_target, ordered, extra):
        X, Y, planted_Q, partner = words(1000, d, d_target=d_target, extra=extra, ordered=ordered)
        Q = start(X, Y).Q
        assert Q.shape == (d, d_target)
        shorter = Q @ Q.T if d <= d_target else Q.T @ Q
        np.testing.assert_allclose(shorter, np.eye(100), atol=1e-8)
        assert found(X, Y, planted_Q, partner) == 1
        assert found(X, Y, Q, partner) > 0.9

    @pytest.mark.parametrize("seed", range(3))
    def test_without_an_order_that_of_the_rows_changes_nothing(self, seed, rng):
        X, Y, _, partner = words(1000, seed=seed)
        rows, columns = rng.permutation(1000), rng.permutation(1000)
        one, other = start(X, Y, ordered=False).Q, start(X[rows], Y[columns], ordered=False).Q
        assert found(X, Y, one, partner) > 0.9
        np.testing.assert_allclose(other, one, atol=1e-3)
        assert np.abs(start(X[rows], Y[columns]).Q - start(X, Y).Q).max() > 1e-2

    def test_is_found_in_few_dimensions_when_all_of_them_are_looked_at(self, rng):
        Z = rng.gamma((0.2, 0.5, 1.0, 2.0, 6.0), size=(400, 5))
        X = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        Q = orthogonal(5, 5, rng)
        Y = (X @ Q)[rng.permutation(400)]
        assert np.linalg.norm(start(X, Y, shares=(1.0,)).Q - Q) < 0.1

    def test_points_beyond_the_first_never_matter(self, rng):
        X, Y, *_ = words(n=300, d=20)
        other = [np.concatenate([Z[:200], rng.standard_normal((30, 20))]) for Z in (X, Y)]
        assert np.array_equal(start(*other, n_fit=(200,), n_points=100).Q, start(X, Y, n_fit=(200,), n_points=100).Q)

    def test_every_number_of_points_gives_members_of_its_own(self):
        X, Y, _, partner = words(1000, 100)
        one, both = start(X, Y, n_fit=(1000,)), start(X, Y, n_fit=(800, 1000))
        assert len(both.evidence["agreement"]) == 2 * len(one.evidence["agreement"])
        assert found(X, Y, both.Q, partner) > 0.9
        # What a cloud does not have can not be looked at twice.
        assert np.array_equal(start(X, Y, n_fit=(1000, 5000)).Q, one.Q)


def unit_cloud(n, d, rng):
    Z = cloud(n, d, rng, components=6)
    return Frame().fit(Z)(Z)


class TestLibraries:
    def test_every_library_gives_the_same_answer(self, asarray, dtype):
        X, Y, _, partner = words()
        arrays = asarray(X, dtype), asarray(Y, dtype)
        result = start(*arrays, shares=(0.5,))
        assert_same_kind(result.Q, arrays[0])
        assert found(X, Y, np.from_dlpack(result.Q), partner) > 0.9
        if dtype == "float64":
            np.testing.assert_allclose(np.from_dlpack(result.Q), start(X, Y, shares=(0.5,)).Q, atol=1e-6)


class TestSmallInput:
    @pytest.mark.parametrize("d", [2, 3, 5, 20, 60])
    def test_fifty_points_give_an_orthogonal_map(self, rng, d):
        X, Y = (unit_cloud(50, d, rng) for _ in range(2))
        Q = start(X, Y).Q
        np.testing.assert_allclose(Q.T @ Q, np.eye(d), atol=1e-6)

    @pytest.mark.parametrize(("n", "m"), [(3, 50), (7, 5), (25, 30), (50, 2000)])
    def test_clouds_of_very_unequal_size(self, rng, n, m):
        result = start(unit_cloud(n, 4, rng), unit_cloud(m, 4, rng))
        assert np.isfinite(result.Q).all()
        assert max(result.evidence["n_axes"]) < n

    def test_flat_clouds_have_as_many_axes_as_directions(self, asarray, dtype, rng):
        flat = [asarray(cloud(80, 4, rng) @ orthogonal(4, 9, rng), dtype) for _ in range(2)]
        assert start(*flat, shares=(1 / 2, 1.0)).evidence["n_axes"] == [2, 4]

    @pytest.mark.parametrize(
        ("X", "Y", "seen"),
        [
            (np.ones((9, 1)), np.ones((9, 1)), "0 for the source and 0 for the target"),
            (np.eye(2), np.eye(5), "1 for the source and 4 for the target"),
            (np.eye(5), np.ones((5, 5)), "4 for the source and 0 for the target"),
        ],
    )
    def test_too_little_says_what_to_do(self, X, Y, seen):
        with pytest.raises(ValueError, match=rf"two directions or more, got {seen}\. Use Convex\(\)"):
            start(X, Y)


class TestKnownPairs:
    def test_they_lead_where_shapes_do_not(self, rng):
        X = rng.standard_normal((200, 30))
        Q = orthogonal(30, 30, rng)
        order = rng.permutation(200)
        Y = (X @ Q)[order]
        pairs = Pairs.from_rows(np.stack([order[:80], np.arange(80)], axis=1), 200, 200)
        lost, led = (np.linalg.norm(start(X, Y, pairs=p).Q - Q) / np.linalg.norm(Q) for p in (NONE, pairs))
        assert led < 0.1
        assert lost > 0.9

    def test_heavy_ones_are_all_that_counts(self):
        X, Y, *_ = words(n=200, d=6)
        pairs = Pairs.from_rows([(i, i + 1, 1e9) for i in range(20)], 200, 200)
        U, _, Vt = np.linalg.svd(X[:20].T @ Y[1:21])
        np.testing.assert_allclose(start(X, Y, pairs=pairs).Q, U @ Vt, atol=1e-4)


def test_seeds_decide_and_inputs_stay_untouched():
    X, Y, *_ = words(n=300, d=12)
    before = X.copy(), Y.copy()
    assert np.array_equal(start(X, Y).Q, start(X, Y).Q)
    assert not np.array_equal(start(X, Y).Q, start(X, Y, seed=1).Q)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


def test_evidence_and_progress_tell_what_happened():
    X, Y, *_ = words(n=300, d=12)
    calls = []
    result = IndependentComponents(**QUICK)(
        X, Y, pairs=NONE, rng=np.random.default_rng(0), progress=lambda *call: calls.append(call)
    )
    assert result.evidence["n_axes"] == [4, 6, 8]
    assert [call[:3] for call in calls] == [("independent components", k, 3) for k in (1, 2, 3)]
    assert [call[3]["agreement"] for call in calls] == result.evidence["agreement"]


def test_axes_agree_more_for_a_rotation_than_for_a_cloud_without_structure(rng):
    X, Y, *_ = words()
    right, other = (start(X, Z, shares=(0.5,)).evidence["agreement"][0] for Z in (Y, rng.permuted(Y, axis=0)))
    assert right > 1.3 * other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shares": ()}, r"shares in \(0, 1\]"),
        ({"shares": (0.5, 1.5)}, r"shares in \(0, 1\]"),
        ({"shares": (0.0,)}, r"shares in \(0, 1\]"),
        ({"n_kept": 0}, "0 < n_kept ≤ n_starts"),
        ({"n_kept": 7}, "0 < n_kept ≤ n_starts"),
        ({"n_fit": (2,)}, "n_fit ≥ 3 and n_points ≥ 1"),
        ({"n_fit": ()}, "n_fit ≥ 3 and n_points ≥ 1"),
        ({"n_points": 0}, "n_fit ≥ 3 and n_points ≥ 1"),
    ],
)
def test_bad_settings_are_refused(rng, options, message):
    with pytest.raises(ValueError, match=f"IndependentComponents needs .*{message}"):
        start(rng.standard_normal((20, 3)), rng.standard_normal((20, 3)), **options)
