"""The checks at the boundary, as `_arrays` offers them to all rooms; nothing public reaches each of them alone."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from damastes import Frame
from damastes._arrays import (
    as_generator,
    check_pair,
    check_points,
    check_weights,
    from_numpy,
    take_rows,
    to_numpy,
    unit_rows,
)
from damastes.matching import FactoredDiscrepancy, FrankWolfe, certify, match_graphs
from damastes.procrustes import orthogonal_procrustes
from damastes.retrieval import CSLS, ISF, Cosines
from damastes.transport import Assignment, Sinkhorn, wasserstein
from planted import assert_same_kind, planted


class TestCheckPoints:
    def test_floats_stay_as_they_are(self, asarray, dtype):
        points = asarray(np.ones((2, 3)), dtype)
        assert_same_kind(check_points(points, "points"), points)

    @pytest.mark.parametrize("kind", ["int64", "int8", "bool", "uint8"])
    def test_other_numbers_become_float32(self, asarray, kind):
        points = asarray(np.array([[0, 1]]), kind)
        assert_same_kind(check_points(points, "points"), asarray(np.ones((1, 2)), "float32"))

    def test_half_precision_becomes_float32(self):
        assert check_points(np.ones((1, 2), np.float16), "points").dtype == np.float32

    def test_the_message_has_row_label_and_count(self):
        points = np.ones((4, 2))
        points[2, 1] = points[3, 0] = np.nan
        with pytest.raises(ValueError, match=r"source must hold finite numbers; row 2 \('c'\).*\(the first of 2\)"):
            check_points(points, "source", labels=["a", "b", "c", "d"])

    def test_zero_rows_have_no_direction(self, asarray):
        with pytest.raises(ValueError, match="vectors with a direction; row 1 is all zeros"):
            check_points(asarray(np.diag([1.0, 0.0])), "source", nonzero=True)

    def test_enough_points(self):
        with pytest.raises(ValueError, match=r"at least 3 points.*got shape \(2, 2\)"):
            check_points(np.eye(2), "source", min_points=3)

    @pytest.mark.parametrize("value", [None, "text", {"a": 1}, [[1], [2, 3]], np.array([[object()]]), [["1"]]])
    def test_what_is_no_array_of_numbers_is_refused(self, value):
        with pytest.raises(ValueError, match="points must be a 2-D array of numbers, got"):
            check_points(value, "points")

    def test_complex_numbers_are_refused(self, asarray):
        with pytest.raises(ValueError, match="real numbers"):
            check_points(asarray(np.ones((1, 1)), "complex64"), "points")


class TestCheckPair:
    def test_one_library(self):
        with pytest.raises(ValueError, match="arrays of one library"):
            check_pair(np.eye(2), array_api_strict.asarray(np.eye(2)))

    @pytest.mark.parametrize(("first", "second"), [("float32", "float64"), ("float64", "float32")])
    def test_the_wider_precision(self, asarray, first, second):
        for points in check_pair(asarray(np.eye(2), first), asarray(np.eye(2), second)):
            assert_same_kind(points, asarray(np.eye(2), "float64"))


class TestCheckWeights:
    def test_none_is_uniform(self, asarray, dtype):
        weights = check_weights(None, 4, "a", asarray(np.eye(4), dtype))
        assert_same_kind(weights, asarray(np.eye(4), dtype))
        np.testing.assert_allclose(np.from_dlpack(weights), 0.25)

    def test_they_are_scaled_to_sum_one(self, asarray, dtype):
        weights = check_weights([1, 3], 2, "a", asarray(np.eye(2), dtype))
        assert_same_kind(weights, asarray(np.eye(2), dtype))
        np.testing.assert_allclose(np.from_dlpack(weights), [0.25, 0.75])


class TestMoving:
    def test_there_and_back(self, asarray, dtype, rng):
        values = rng.standard_normal((3, 2)).astype(dtype)
        there = from_numpy(values, asarray(values))
        assert_same_kind(there, asarray(values))
        np.testing.assert_array_equal(to_numpy(there), values)

    def test_floats_take_the_precision_and_whole_numbers_keep_theirs(self, asarray):
        like = asarray(np.ones(1), "float32")
        assert from_numpy(np.ones(2), like).dtype == like.dtype
        assert to_numpy(from_numpy(np.arange(2), like)).dtype == np.int64

    def test_rows_in_any_order(self, asarray):
        rows = take_rows(asarray(np.arange(6.0).reshape(3, 2)), np.array([2, 0, 2]))
        np.testing.assert_array_equal(to_numpy(rows), [[4, 5], [0, 1], [4, 5]])

    def test_unit_rows_leave_zero_at_zero(self, asarray, dtype):
        units = unit_rows(asarray([[3.0, 4.0], [0.0, 0.0]], dtype))
        np.testing.assert_allclose(to_numpy(units), [[0.6, 0.8], [0, 0]], rtol=1e-6)


class TestGenerator:
    def test_seed_generator_and_none(self):
        generator = np.random.default_rng(0)
        assert as_generator(generator) is generator
        assert as_generator(5).random() == as_generator(np.int64(5)).random()
        assert as_generator(None).random() != as_generator(None).random()

    def test_anything_else_is_refused(self):
        with pytest.raises(ValueError, match="random_state must be an int, a numpy Generator or None, got str"):
            as_generator("seed")


def test_answers_stay_on_the_device_of_the_points():
    """array-api-strict has devices that do not mix, which makes forgetting one an error without any accelerator."""
    device = array_api_strict.Device("device1")
    problem = planted(20, 3)

    def put(values):
        return array_api_strict.asarray(values, device=device)

    X, Y, Q = put(problem.X), put(problem.Y), put(problem.Q)
    ring = put(np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1))
    assert orthogonal_procrustes(X, Y, weights=np.ones(20), rotation_only=True).device == device
    for coupler in (Assignment(), Sinkhorn(0.5), Sinkhorn(0.01)):
        found = wasserstein(X @ Q, Y, coupler=coupler)
        assert found.coupling.cross(X, Y).device == device
    assert FrankWolfe(max_iter=2)(FactoredDiscrepancy(X, Y, cost=problem.X @ problem.Y.T)).state[2].device == device
    assert certify(X, Y, Q, solver=FrankWolfe(max_iter=2)).value < 1
    assert match_graphs(ring, ring, seeds=[(0, 0)]).relaxation.state[0].device == device
    for retriever in (CSLS(), ISF()):
        assert retriever.biases(Cosines(X @ Q, Y)).columns.device == device
        np.testing.assert_array_equal(retriever(X @ Q, Y).indices, retriever(problem.X @ problem.Q, problem.Y).indices)
    frame = Frame(power=0.5).fit(X)
    assert frame.undo(frame(X)).device == device
