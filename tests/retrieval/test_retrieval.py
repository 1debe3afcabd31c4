from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from damastes.retrieval import CSLS, ISF, Biases, Cosines, Nearest, leads, mutual_pairs
from planted import cloud, orthogonal, planted

RETRIEVERS = [Nearest(), CSLS(), CSLS(k=3), ISF(), ISF(beta=5.0)]


def cosines(X, Y):
    X, Y = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, Y))
    return X @ Y.T


def naive_scores(retriever, X, Y):
    """Every score of the criterion, from its definition."""
    C = cosines(X, Y)
    if isinstance(retriever, CSLS):
        r_y = np.sort(C, axis=1)[:, ::-1][:, : retriever.k].mean(1)
        r_x = np.sort(C, axis=0)[::-1][: retriever.k].mean(0)
        return 2 * C - r_y[:, None] - r_x[None, :]
    if isinstance(retriever, ISF):
        E = np.exp(retriever.beta * C)
        return E / E.sum(axis=0)
    return C


def naive_mutual(scores):
    forward, backward = scores.argmax(1), scores.argmax(0)
    rows = np.flatnonzero(backward[forward] == np.arange(len(scores)))
    return rows, forward[rows]


@pytest.fixture(params=[10**9, 500, 1], ids=["one block", "some blocks", "a row a block"])
def blocks(request, monkeypatch):
    monkeypatch.setattr("damastes.retrieval.topk.BLOCK_ENTRIES", request.param)


@pytest.fixture
def clouds(rng):
    """Two overlapping clouds of different sizes and lengths, with a hub on each side."""
    X, Y = cloud(60, 5, rng), 3 * cloud(45, 5, rng)
    X[0], Y[0] = X.mean(0), Y.mean(0)
    return X, Y


@pytest.mark.parametrize("retriever", RETRIEVERS, ids=str)
class TestEveryRetriever:
    @pytest.mark.usefixtures("blocks")
    def test_agrees_with_the_definition(self, asarray, dtype, clouds, retriever):
        scores = naive_scores(retriever, *clouds)
        found = retriever(asarray(clouds[0], dtype), asarray(clouds[1], dtype), 4)
        assert found.scores.dtype == dtype
        tolerance = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :4], atol=tolerance)
        np.testing.assert_allclose(np.take_along_axis(scores, found.indices, 1), found.scores, atol=tolerance)

    @pytest.mark.usefixtures("blocks")
    def test_mutual_pairs_agree_with_the_definition(self, asarray, dtype, clouds, retriever):
        X, Y = (asarray(Z, dtype) for Z in clouds)
        found = mutual_pairs(Cosines(X, Y), retriever.biases(Cosines(X, Y)))
        scores = naive_scores(retriever, *clouds)
        if isinstance(retriever, ISF):
            scores = np.log(scores)
        rows, columns = naive_mutual(scores)
        assert 5 < len(found) == len(rows)
        np.testing.assert_array_equal(found.source, rows)
        np.testing.assert_array_equal(found.target, columns)
        np.testing.assert_allclose(found.scores, scores[rows, columns], atol=1e-3 if dtype == "float32" else 1e-10)

    @pytest.mark.usefixtures("blocks")
    def test_leads_agree_with_the_definition(self, asarray, dtype, clouds, retriever):
        both = Cosines(*(asarray(Z, dtype) for Z in clouds))
        bias = retriever.biases(both)
        found = mutual_pairs(both, bias)
        scores = naive_scores(retriever, *clouds)
        if isinstance(retriever, ISF):
            scores = np.log(scores)
        expected = [
            scores[i, j] - max(np.delete(scores[i], j).max(), np.delete(scores[:, j], i).max())
            for i, j in zip(found.source, found.target, strict=True)
        ]
        assert min(expected) > 0
        np.testing.assert_allclose(leads(both, bias, found), expected, atol=1e-3 if dtype == "float32" else 1e-10)

    def test_answers_do_not_depend_on_what_else_is_asked(self, asarray, clouds, retriever):
        X, Y = (asarray(Z) for Z in clouds)
        everything = retriever(X, Y, 3)
        for queries in ([17], [3, 59, 3, 0], np.array([], dtype=np.int64), []):
            found = retriever(X, Y, 3, queries=queries)
            np.testing.assert_array_equal(found.indices, everything.indices[np.asarray(queries, dtype=int)])
            np.testing.assert_allclose(found.scores, everything.scores[np.asarray(queries, dtype=int)], atol=1e-12)

    def test_biases_can_be_kept(self, clouds, retriever):
        biases = retriever.biases(Cosines(*clouds))
        np.testing.assert_array_equal(retriever(*clouds, biases=biases).indices, retriever(*clouds).indices)

    def test_a_joint_rotation_and_lengths_change_nothing(self, rng, clouds, retriever):
        X, Y = clouds
        Q, lengths = orthogonal(5, 5, rng), rng.uniform(0.1, 10, (60, 1))
        before, after = retriever(X, Y, 3), retriever(lengths * X @ Q, Y @ Q, 3)
        np.testing.assert_array_equal(after.indices, before.indices)
        np.testing.assert_allclose(after.scores, before.scores, atol=1e-10)

    def test_finds_planted_partners(self, asarray, dtype, retriever):
        problem = planted(80, 30, noise=0.02, target_outliers=20)
        mapped, Y = asarray(problem.X @ problem.Q, dtype), asarray(problem.Y, dtype)
        np.testing.assert_array_equal(retriever(mapped, Y).indices[:, 0], problem.permutation)

    def test_k_beyond_a_side_means_all_of_it(self, asarray, clouds, retriever):
        X, Y = (asarray(Z[:4]) for Z in clouds)
        found = retriever(X, Y, 100)
        assert found.indices.shape == (4, 4)
        scores = naive_scores(retriever, clouds[0][:4], clouds[1][:4])
        np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1), atol=1e-10)

    def test_the_input_is_not_written_to(self, clouds, retriever):
        before = [Z.copy() for Z in clouds]
        biases = retriever.biases(Cosines(*clouds))
        columns = np.array(biases.columns)
        retriever(*clouds, biases=biases)
        mutual_pairs(Cosines(*clouds), biases)
        for now, then in zip((*clouds, np.array(biases.columns)), (*before, columns), strict=True):
            np.testing.assert_array_equal(now, then)

    @pytest.mark.parametrize(
        ("source", "target", "options", "message"),
        [
            (np.ones((2, 3)), np.ones((2, 4)), {}, "in one space, got dimensions 3 and 4. Map first"),
            (np.ones((2, 3)), np.array([[1, np.nan, 0]]), {}, "target must hold finite"),
            (np.ones(3), np.ones((2, 3)), {}, "source must be 2-D"),
            (np.ones((0, 3)), np.ones((2, 3)), {}, "source must hold at least"),
            (np.ones((2, 3)), np.ones((2, 3)), {"k": 0}, "k must be at least 1, got 0"),
            (np.ones((2, 3)), np.ones((2, 3)), {"queries": [2]}, "queries must be row numbers of source, 0 to 1"),
            (np.ones((2, 3)), np.ones((2, 3)), {"queries": [-1]}, "queries must be row numbers"),
            (np.ones((2, 3)), np.ones((2, 3)), {"queries": [0.5]}, "queries must be row numbers"),
            (np.ones((2, 3)), np.ones((2, 3)), {"queries": [[0]]}, "queries must be row numbers"),
        ],
    )
    def test_bad_input_is_named(self, retriever, source, target, options, message):
        with pytest.raises(ValueError, match=message):
            retriever(source, target, **options)

    def test_biases_of_other_clouds_are_refused(self, clouds, retriever):
        X, Y = clouds
        biases = Biases(1.0, np.zeros(60), np.zeros(7))
        with pytest.raises(ValueError, match=r"biases must come from these clouds.*45.*7"):
            retriever(X, Y, biases=biases)
        with pytest.raises(ValueError, match=r"biases must come from these clouds.*60.*3"):
            mutual_pairs(Cosines(X, Y), Biases(1.0, np.zeros(3), np.zeros(45)))


class TestCSLS:
    def test_a_hub_is_chosen_less_often(self, clouds):
        X, Y = clouds
        chosen = [np.bincount(r(X, Y).indices[:, 0], minlength=45).max() for r in (Nearest(), CSLS())]
        assert chosen[1] < chosen[0]

    @pytest.mark.usefixtures("blocks")
    def test_k_is_clamped_to_each_side_on_its_own(self, asarray, clouds):
        X, Y = clouds[0][:6], clouds[1][:20]
        C = cosines(X, Y)
        biases = CSLS(k=10).biases(Cosines(asarray(X), asarray(Y)))
        np.testing.assert_allclose(np.from_dlpack(biases.rows), np.sort(C, axis=1)[:, -10:].mean(1))
        np.testing.assert_allclose(np.from_dlpack(biases.columns), C.mean(0))

    def test_needs_a_neighbour(self):
        with pytest.raises(ValueError, match="CSLS needs at least 1 neighbour, got k=0"):
            CSLS(k=0)(np.eye(2), np.eye(2))


class TestISF:
    def test_scores_are_shares_of_all_source_points(self, clouds):
        found = ISF(beta=3.0)(*clouds, 45)
        shares = np.zeros((60, 45))
        np.put_along_axis(shares, found.indices, found.scores, 1)
        np.testing.assert_allclose(shares.sum(0), 1)

    def test_a_large_beta_does_no_harm(self, asarray, clouds):
        X, Y = (asarray(Z, "float32") for Z in clouds)
        # Some targets are far from every source point: exp(β cos) alone would under- or overflow.
        Y[0, :] = -asarray(clouds[0].mean(0), "float32")
        found, expected = ISF(beta=500.0)(X, Y), ISF(beta=500.0)(np.from_dlpack(X).astype(float), np.from_dlpack(Y))
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-3)

    @pytest.mark.parametrize("beta", [0, -1, np.nan])
    def test_beta_must_be_positive(self, beta):
        with pytest.raises(ValueError, match="ISF needs beta above 0"):
            ISF(beta=beta)(np.eye(2), np.eye(2))


class TestCosines:
    def test_a_second_sweep_sees_the_same(self, asarray, clouds, blocks):
        cosines = Cosines(*(asarray(Z) for Z in clouds))
        sweeps = [[(rows, np.array(np.from_dlpack(values))) for rows, values in cosines] for _ in range(2)]
        for one, other in zip(*sweeps, strict=True):
            assert one[0] == other[0]
            np.testing.assert_array_equal(one[1], other[1])

    def test_few_are_kept_and_never_written_to(self, clouds):
        cosines = Cosines(*clouds)
        before = [values.copy() for _, values in cosines]
        mutual_pairs(cosines, CSLS().biases(cosines))
        for (_, values), then in zip(cosines, before, strict=True):
            np.testing.assert_array_equal(values, then)
        assert next(iter(cosines))[1] is next(iter(cosines))[1]


class TestMutualPairs:
    def test_the_direction_does_not_matter(self, clouds):
        X, Y = clouds
        forward = mutual_pairs(Cosines(X, Y), CSLS().biases(Cosines(X, Y)))
        backward = mutual_pairs(Cosines(Y, X), CSLS().biases(Cosines(Y, X)))
        assert set(zip(forward.source, forward.target, strict=True)) == set(
            zip(backward.target, backward.source, strict=True)
        )

    @pytest.mark.usefixtures("blocks")
    def test_a_tie_gives_one_pair(self):
        X = np.array([[1.0, 0], [1, 0], [0, 1]])
        found = mutual_pairs(Cosines(X, np.eye(2)), Biases(1.0, 0, 0))
        assert len(found) == 2
        assert sorted(found.target) == [0, 1]
        np.testing.assert_allclose(leads(Cosines(X, np.eye(2)), Biases(1.0, 0, 0), found), [0, 1])

    def test_outliers_have_no_partner(self):
        problem = planted(60, 8, noise=0.01, source_outliers=30, target_outliers=30)
        cosines = Cosines(problem.X @ problem.Q, problem.Y)
        found = mutual_pairs(cosines, CSLS().biases(cosines))
        inliers = found.source < 60
        assert inliers.sum() == 60
        np.testing.assert_array_equal(found.target[inliers], problem.permutation[:60])


@pytest.mark.parametrize("retriever", [Nearest(), CSLS(), ISF()], ids=str)
def test_never_allocates_all_pairs(monkeypatch, rng, retriever):
    n = 6000
    monkeypatch.setattr("damastes.retrieval.topk.BLOCK_ENTRIES", 100 * n)
    X, Y = (rng.standard_normal((n, 4)).astype(np.float32) for _ in range(2))
    tracemalloc.start()
    try:
        retriever(X, Y, 5)
        mutual_pairs(Cosines(X, Y), retriever.biases(Cosines(X, Y)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A few blocks of 2.4 MB; all pairs would be 144 MB.
    assert peak < 20e6
