from __future__ import annotations

import json

import numpy as np
import pytest

from damastes.pairs import Pairs
from damastes.recipes import DEFAULT
from damastes.solvers import Refinement, Stochastic
from damastes.verdict import _EQUAL_STAGES, Verdict, _answers, _decided, _kept, _lost, _turned, judge
from planted import planted


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def orthogonal(d, rng):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def scene(n=300, d=24, noise=0.3, seed=0, **options):
    """Framed clouds of a planted problem, as float32."""
    problem = planted(n, d, noise=noise, seed=seed, centred=True, **options)
    return unit(problem.X).astype(np.float32), unit(problem.Y).astype(np.float32), problem.Q.astype(np.float32)


def verdict(X, Y, Q, seed=0, **options):
    return judge(X, Y, Q, rng=np.random.default_rng(seed), **options)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_map_is_aligned(seed):
    assert verdict(*scene(seed=seed), seed=seed).label == "aligned"


def test_unequal_dimensions_and_sizes():
    X, Y, Q = scene(d=16, d_target=24, target_outliers=100)
    assert verdict(X, Y, Q).label == "aligned"
    assert verdict(Y, X, Q.T).label == "aligned"


@pytest.mark.parametrize("seed", range(3))
def test_another_rotation_is_failed(seed, rng):
    X, Y, _ = scene(seed=seed)
    assert verdict(X, Y, orthogonal(24, rng).astype(np.float32), seed=seed).label == "failed"


def test_a_rough_map_is_judged_by_where_it_leads(rng):
    X, Y, Q = scene()
    U, _, Vt = np.linalg.svd(Q + 0.5 * orthogonal(24, rng))
    assert verdict(X, Y, (U @ Vt).astype(np.float32)).label == "aligned"


@pytest.mark.parametrize("seed", range(4))
def test_a_rougher_one_leads_home_but_is_not_aligned_itself(seed):
    X, _, _ = scene(n=900, d=40, noise=0.0, seed=seed)
    U, _, Vt = np.linalg.svd(np.eye(40) + 1.5 * orthogonal(40, np.random.default_rng(seed)))
    Q = (U @ Vt).astype(np.float32)
    assert verdict(X, X, Q, thorough=False).label == "aligned"
    assert verdict(X, X, Q).label != "aligned"


@pytest.mark.parametrize("seed", range(3))
def test_clouds_without_relation_are_failed_also_for_a_map_fitted_to_them(seed):
    # Self-learning to the end between two Gaussian clouds of one covariance.
    rng = np.random.default_rng(seed)
    X, Y = (unit(rng.standard_normal((400, 30)) * np.geomspace(1, 0.3, 30)).astype(np.float32) for _ in range(2))
    start = np.eye(30, dtype=np.float32)
    Q = Refinement(n_epochs=20)(X, Y, start, pairs=Pairs.none(), rng=rng).Q
    assert verdict(X, Y, Q, seed=seed).label == "failed"


def test_the_same_space_twice_is_aligned():
    X, _, _ = scene()
    found = verdict(X, X, np.eye(24, dtype=np.float32))
    assert found.label == "aligned"
    assert found.evidence["closeness"] == pytest.approx(1, abs=1e-3)


def test_points_beyond_the_head_never_matter(rng):
    X, Y, Q = scene(n=200)
    longer = [np.concatenate([Z, unit(rng.standard_normal((50, 24))).astype(np.float32)]) for Z in (X, Y)]
    heads = [np.concatenate([Z, unit(rng.standard_normal((50, 24))).astype(np.float32)]) for Z in (X, Y)]
    assert verdict(*longer, Q, n_points=100) == verdict(*heads, Q, n_points=100)


ALWAYS, NEVER = (-1, 2), (2, -1)


@pytest.mark.parametrize(
    ("doubt", "n_points", "looked_at"), [(NEVER, 100, 100), (ALWAYS, 100, 200), (ALWAYS, 200, 300), (ALWAYS, 400, 300)]
)
def test_a_doubt_is_met_with_more_points_and_rivals(monkeypatch, doubt, n_points, looked_at):
    monkeypatch.setattr("damastes.verdict._DOUBT", doubt)
    found = verdict(*scene(), n_points=n_points)
    assert found.evidence["n_points"] == looked_at
    assert ("n_rivals" in found.evidence) == (doubt == ALWAYS)
    assert found.label == "aligned"


def test_a_quick_verdict_knows_no_rivals(monkeypatch):
    monkeypatch.setattr("damastes.verdict._DOUBT", ALWAYS)
    assert "n_rivals" not in verdict(*scene(), thorough=False).evidence


def test_a_long_fit_to_noise_is_no_better_than_its_rivals(monkeypatch):
    monkeypatch.setattr("damastes.verdict._DOUBT", ALWAYS)
    rng = np.random.default_rng(0)
    X, Y = (unit(rng.standard_normal((900, 40)) * np.geomspace(1, 0.3, 40)).astype(np.float32) for _ in range(2))
    Q = np.eye(40, dtype=np.float32)
    for climb in (DEFAULT.climb, DEFAULT.refinement):
        Q = climb(X, Y, Q, pairs=Pairs.none(), rng=rng).Q
    found = verdict(X, Y, Q)
    assert found.label == "failed"
    assert found.evidence["n_rivals"] == 8


def test_beside_rivals_few_points_need_more_evidence():
    seen = {"n_rivals": 4, "closeness": 0.5, "closeness_of_wrong_maps": 0.45}
    few = {**seen, "n_points": 50, "agreement": 0.04, "agreement_of_wrong_maps": 0.01}
    many = {**seen, "n_points": 3000, "agreement": 0.04, "agreement_of_wrong_maps": 0.023}
    assert _decided(many).label == "aligned"
    assert _decided(few).label == "uncertain"


@pytest.mark.parametrize(("n", "looked"), [(300, False), (450, True)])
def test_a_right_map_of_enough_points_comes_home(monkeypatch, n, looked):
    monkeypatch.setattr("damastes.verdict._DOUBT", ALWAYS)
    monkeypatch.setattr("damastes.verdict._ENOUGH_TO_COME_HOME", 400)
    stages = []
    found = verdict(*scene(n=n), progress=lambda stage, *_: stages.append(stage))
    assert found.label == "aligned"
    assert ("home" in found.evidence) == ("the way home" in stages) == looked
    assert found.evidence.get("home", 1.0) > 0.9


@pytest.mark.parametrize(("home", "label"), [(0.8, "aligned"), (0.5, "aligned"), (0.3, "uncertain"), (-0.1, "failed")])
def test_a_map_that_does_not_come_home_is_in_doubt(home, label):
    seen = {"n_rivals": 1, "n_points": 3000, "closeness": 0.5, "closeness_of_wrong_maps": 0.45}
    seen |= {"agreement": 0.04, "agreement_of_wrong_maps": 0.023}
    found = _decided({**seen, "home": home})
    assert (found.score > _decided(seen).score) == (home > 0.5)
    assert found.label == label
    assert (f"comes back only to cosine {home:.2f}" in str(found)) == (home < 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_map_from_which_exploration_finds_home_is_not_aligned(monkeypatch, seed):
    monkeypatch.setattr("damastes.verdict._DOUBT", ALWAYS)
    X, _, _ = scene(n=900, d=40, noise=0.0, seed=seed)
    found = verdict(X, X, _turned(X, 0.48, np.random.default_rng(seed)), seed=seed)
    assert found.evidence["closeness"] > 0.99
    assert found.evidence["kept"] < 0.1
    assert found.label != "aligned"


@pytest.mark.parametrize(("kept", "label"), [(0.8, "aligned"), (0.12, "aligned"), (0.09, "uncertain"), (0.0, "failed")])
def test_a_map_that_becomes_another_is_in_doubt(kept, label):
    seen = {"n_rivals": 2, "n_points": 3000, "closeness": 0.5, "closeness_of_wrong_maps": 0.45}
    found = _decided({**seen, "agreement": 0.06, "agreement_of_wrong_maps": 0.023, "kept": kept})
    assert found.label == label
    assert ("becomes another map" in str(found)) == (kept < 0.12)


def test_what_is_kept_is_counted_in_answers():
    X, _, _ = scene(n=300, d=20, noise=0.0)
    right, turned = (_answers(Z, X)[0] for Z in (X, X @ _turned(X, 0.5, np.random.default_rng(0))))
    assert _kept(right, right) == 1.0
    assert _kept(turned, right) < 0.2


def test_maps_that_come_home_do_not_serve_as_wrong_ones():
    # Between a cloud and its copy many a long fit does.
    X, _, _ = scene(noise=0.0)
    for seed in range(6):
        Q = _lost(X, X, _EQUAL_STAGES, np.random.default_rng(seed))
        climbed = np.count_nonzero(Q) > 24
        assert np.trace(Q) <= 2 * np.sqrt(24) or not climbed


def test_a_joint_rotation_changes_nothing_but_rounding(rng):
    X, Y, Q = scene()
    R, S = (orthogonal(24, rng).astype(np.float32) for _ in range(2))
    one, other = verdict(X, Y, Q), verdict(X @ R, Y @ S, R.T @ Q @ S)
    assert one.label == other.label
    assert one.evidence["closeness"] == pytest.approx(other.evidence["closeness"], abs=0.02)


def test_equal_generators_give_equal_verdicts():
    X, Y, Q = scene()
    assert verdict(X, Y, Q, seed=5) == verdict(X, Y, Q, seed=5)
    assert verdict(X, Y, Q, seed=5) != verdict(X, Y, Q, seed=6)


def test_array_libraries_agree(asarray, dtype):
    X, Y, Q = scene(n=120, d=12)
    found = verdict(*(asarray(Z, dtype) for Z in (X, Y, Q)))
    reference = verdict(*(Z.astype(dtype) for Z in (X, Y, Q)))
    assert found.label == reference.label == "aligned"
    assert found.evidence["closeness"] == pytest.approx(reference.evidence["closeness"], abs=0.02)


def test_nothing_is_written_to_and_progress_counts_up():
    X, Y, Q = scene(n=150)
    before = [Z.copy() for Z in (X, Y, Q)]
    seen = []
    verdict(X, Y, Q, progress=lambda stage, done, total, info: seen.append((stage, done, total)))
    for Z, copy in zip((X, Y, Q), before, strict=True):
        np.testing.assert_array_equal(Z, copy)
    assert seen == [("verdict", done, seen[-1][2]) for done in range(1, seen[-1][2] + 1)]


@pytest.mark.parametrize("seed", range(3))
def test_a_quick_doubt_is_met_with_more_points(seed):
    X, Y, Q = scene(n=400, noise=0.8, seed=seed)
    first = verdict(X[:100], Y[:200], Q, thorough=False, n_points=100)
    assert first.label == "uncertain"
    found = verdict(X, Y, Q, thorough=False, n_points=100)
    assert found.label == "aligned"
    assert (first.evidence["n_points"], found.evidence["n_points"]) == (100, 200)


@pytest.mark.parametrize(("n", "met"), [(60, True), (150, False)])
def test_few_points_meet_rivals_however_clear_the_map_looks(n, met):
    X, Y, Q = scene(n=n, d=12, noise=0.05)
    assert verdict(X, Y, Q, thorough=False).score > 0.95
    found = verdict(X, Y, Q)
    assert ("n_rivals" in found.evidence) == met
    assert found.label == "aligned"


@pytest.mark.parametrize(("n", "d"), [(10, 8), (200, 2)])
def test_too_little_to_tell_is_uncertain(n, d):
    found = verdict(*scene(n=n, d=d))
    assert found.label == "uncertain"
    assert "too few" in str(found)


def test_a_verdict_speaks_and_goes_to_json():
    found = verdict(*scene())
    assert str(found).startswith(f"aligned (score {found.score:.2f}): held-out points come within cosine ")
    assert 0 <= found.score <= 1
    record = json.loads(json.dumps(found.to_json()))
    assert record == {"label": "aligned", "score": found.score, "evidence": dict(found.evidence)}
    assert Verdict(**record) == found


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_map_starts_with_half_of_the_directions_turned_round(seed):
    X, Y, _ = scene(d=24)
    start = _lost(X, Y, Stochastic(schedule=()), np.random.default_rng(seed))
    assert np.trace(start) == 0
    np.testing.assert_array_equal(np.abs(start), np.eye(24))
