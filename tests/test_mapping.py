from __future__ import annotations

import numpy as np
import pytest

from damastes import Frame, Map
from planted import assert_same_kind, cloud, planted


def solved(problem, power=1.0, scale=2.0):
    """The right map of a planted problem whose target is `scale` times as long."""
    frames = [Frame(power=power).fit(Z) for Z in (problem.X, scale * problem.Y)]
    return Map(problem.Q, *frames)


@pytest.mark.parametrize("power", [1.0, 0.5])
class TestRoundTrip:
    def test_inverse_transform_undoes_transform(self, asarray, dtype, rng, power):
        found = solved(planted(50, 4), power)
        for vectors in (planted(50, 4).X, cloud(20, 4, rng) + 0.5):
            raw = asarray(vectors, dtype)
            there = found.transform(raw)
            back = found.inverse_transform(there)
            assert_same_kind(there, raw)
            assert_same_kind(back, raw)
            np.testing.assert_allclose(np.from_dlpack(back), vectors, atol=5e-3 if dtype == "float32" else 1e-9)
            assert not np.allclose(np.from_dlpack(there), vectors, atol=0.1)

    def test_transform_gives_the_raw_target_vectors(self, asarray, power):
        problem = planted(50, 4)
        mapped = np.from_dlpack(solved(problem, power).transform(asarray(problem.X)))
        np.testing.assert_allclose(mapped, 2 * problem.Y[problem.permutation], atol=1e-9)

    def test_both_sides_meet_in_the_shared_frame(self, asarray, power):
        problem = planted(50, 4)
        found = solved(problem, power)
        source, target = found.embed_source(asarray(problem.X)), found.embed_target(asarray(2 * problem.Y))
        assert_same_kind(source, target)
        np.testing.assert_allclose(np.from_dlpack(source), np.from_dlpack(target)[problem.permutation], atol=1e-9)


class TestUnequalDimensions:
    def test_a_larger_target_can_be_mapped_back(self, asarray):
        problem = planted(50, 3, d_target=5)
        # Framed without the mean, so that the clouds are isometric in their frames.
        found = Map(problem.Q, *(Frame(centre=False).fit(Z) for Z in (problem.X, problem.Y)))
        there = found.transform(asarray(problem.X))
        assert there.shape == (50, 5)
        np.testing.assert_allclose(np.from_dlpack(there), problem.Y[problem.permutation], atol=1e-9)
        np.testing.assert_allclose(np.from_dlpack(found.inverse_transform(there)), problem.X, atol=1e-9)


class TestMoving:
    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_vectors_of_any_library_may_be_given_to_a_numpy_map(self, asarray, dtype, power):
        problem = planted(30, 4)
        found, raw = solved(problem, power), asarray(problem.X, dtype)
        for use in (found.transform, found.inverse_transform, found.embed_source, found.embed_target):
            assert_same_kind(use(raw), raw)
            np.testing.assert_allclose(
                np.from_dlpack(use(raw)), use(problem.X), atol=5e-3 if dtype == "float32" else 1e-9
            )

    def test_a_map_on_its_own_ground_is_itself(self, asarray, dtype):
        problem = planted(30, 4)
        moved = solved(problem).on(asarray(problem.X, dtype))
        assert_same_kind(moved.Q, asarray(problem.X, dtype))
        assert moved.on(asarray(problem.X, dtype)) is moved

    def test_how_it_was_made_travels_along(self, asarray):
        problem = planted(30, 4)
        found = Map(problem.Q, Frame().fit(problem.X), Frame().fit(problem.Y), {"seed": 3})
        assert found.on(asarray(problem.X, "float32")).made == {"seed": 3}


class TestMetric:
    @staticmethod
    def weighed(problem, metric):
        return Map(problem.Q, Frame().fit(problem.X), Frame().fit(problem.Y), {}, metric)

    def test_weighs_directions_of_both_sides_where_cosines_are_compared(self, asarray, dtype):
        problem = planted(30, 4)
        metric = np.diag([1.0, 0.5, 0.1, 0.0])
        plain, weighed = solved(problem, scale=1.0), self.weighed(problem, metric)
        for side in ("embed_source", "embed_target"):
            raw = asarray(problem.X if side == "embed_source" else problem.Y, dtype)
            here = getattr(weighed, side)(raw)
            assert_same_kind(here, raw)
            expected = np.from_dlpack(getattr(plain, side)(raw)) @ metric
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
            np.testing.assert_allclose(np.from_dlpack(here), expected, atol=1e-5 if dtype == "float32" else 1e-12)

    def test_partners_still_meet(self):
        problem = planted(30, 4)
        found = self.weighed(problem, np.diag([1.0, 0.5, 0.2, 0.1]))
        source, target = found.embed_source(problem.X), found.embed_target(problem.Y)
        np.testing.assert_allclose(source, target[problem.permutation], atol=1e-9)

    def test_does_not_change_where_vectors_are_mapped_to(self, asarray):
        problem = planted(30, 4)
        plain, weighed = solved(problem, scale=1.0), self.weighed(problem, np.diag([1.0, 0.5, 0.1, 0.0]))
        for use in ("transform", "inverse_transform"):
            raw = asarray(problem.X)
            assert np.array_equal(np.from_dlpack(getattr(weighed, use)(raw)), np.from_dlpack(getattr(plain, use)(raw)))

    def test_a_metric_that_weighs_all_alike_changes_nothing(self):
        problem = planted(30, 4)
        np.testing.assert_allclose(
            self.weighed(problem, 0.3 * np.eye(4)).embed_source(problem.X),
            self.weighed(problem, None).embed_source(problem.X),
            atol=1e-12,
        )

    def test_moves_with_the_map(self, asarray, dtype):
        problem = planted(30, 4)
        like = asarray(problem.X, dtype)
        assert_same_kind(self.weighed(problem, np.eye(4)).on(like).metric, like)
        assert self.weighed(problem, None).on(like).metric is None


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((2, 7)), "vectors must have {} coordinates"),
        (np.array([[np.nan] * 5]), "vectors must hold finite"),
        (np.ones(5), "vectors must be 2-D"),
        (np.ones((0, 5)), "vectors must hold at least"),
        ("words", "vectors must be a 2-D array of numbers, got str"),
    ],
)
def test_bad_vectors_are_named(vectors, message):
    problem = planted(30, 3, d_target=5)
    found = solved(problem)
    for use, dimension in (
        (found.transform, 3),
        (found.embed_source, 3),
        (found.inverse_transform, 5),
        (found.embed_target, 5),
    ):
        with pytest.raises(ValueError, match=message.format(dimension)):
            use(vectors)
