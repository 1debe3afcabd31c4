"""`align` as its users call it: planted answers, real vectors, known pairs, bad input."""

import dataclasses
import json

import numpy as np
import pytest

import damastes
from damastes import Frame, Recipe, samples
from damastes.initializers import Anchors, Convex, Random, Start
from damastes.procrustes import orthogonal_procrustes
from damastes.recipes import Head, Route
from damastes.retrieval import ISF, Nearest
from damastes.solvers import Phase, Refinement, Solution, Stochastic
from damastes.verdict import Verdict
from planted import assert_same_kind, cloud, orthogonal

QUICK = {"solver": Stochastic(schedule=(Phase(60, 300),)), "refinement": Refinement(n_epochs=2)}


def scene(kind, seed, *, n=150, d=12, d_target=None, extra=0, noise=0.0, centred=False):
    """(X, Y, Q, partner): rows of both sides in random order, X[i] Q ≈ Y[partner[i]]."""
    rng = np.random.default_rng([seed, 7])
    d_target = d_target or d
    small = min(d, d_target)
    if kind == "words":
        base = samples.load("en").matrix[rng.permutation(3000)[: n + extra], :small].astype(np.float64)
    else:
        base = cloud(n + extra, small, rng, components=max(5, n // 15))
    if centred:
        base = base - base.mean(axis=0)
    Q = orthogonal(d, d_target, rng)
    X, Y = (base[:n], base @ Q) if d <= d_target else (base[:n] @ Q.T, base)
    Y = Y + noise * np.sqrt(np.mean(np.sum(base**2, axis=1)) / d_target) * rng.standard_normal(Y.shape)
    rows, order = rng.permutation(n), rng.permutation(len(Y))
    return X[rows], Y[order], Q, np.argsort(order)[:n][rows]


def recovered(alignment, partner):
    return float(np.mean(alignment.neighbours(1, retriever=Nearest()).indices[:, 0] == partner))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["mixture", "words"])
@pytest.mark.parametrize("centred", [False, True])
def test_a_rotation_and_a_permutation_are_recovered_exactly(kind, centred, seed):
    X, Y, Q, partner = scene(kind, seed, centred=centred)
    alignment = damastes.align(X, Y, random_state=seed, **QUICK)
    assert recovered(alignment, partner) == 1
    np.testing.assert_allclose(alignment.Q, Q, atol=1e-4)
    np.testing.assert_allclose(alignment.transform(X), Y[partner], atol=1e-3 * np.abs(Y).max())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("d", "d_target"), [(20, 20), (16, 24), (24, 16)])
@pytest.mark.parametrize("extra", [0, 50])
def test_noise_unequal_sizes_and_unequal_dimensions(d, d_target, extra, seed):
    X, Y, Q, partner = scene("mixture", seed, d=d, d_target=d_target, extra=extra, noise=0.04)
    alignment = damastes.align(X, Y, random_state=seed, **QUICK)
    truth = dataclasses.replace(alignment, map=dataclasses.replace(alignment.map, Q=Q))
    assert recovered(truth, partner) >= 0.995  # otherwise the problem is not solvable
    assert recovered(alignment, partner) >= 0.99


def test_the_order_of_array_rows_is_no_information():
    """A head of the source and a tail of the target: a prefix would be no sample of the whole."""
    X, Y, _, partner = scene("words", 0, n=300, d=20)
    order = np.argsort(X[:, 0]), np.argsort(-Y[:, 3])
    alignment = damastes.align(X[order[0]], Y[order[1]], initializer=Convex(n_points=200), **QUICK)
    assert recovered(alignment, np.argsort(order[1])[partner[order[0]]]) == 1


@pytest.fixture(scope="module")
def english():
    return samples.load("en").head(2000)


@pytest.fixture(scope="module")
def spanish():
    return samples.load("es").head(2000)


@pytest.fixture(scope="module")
def alignment(english, spanish):
    return damastes.align(english, spanish)


def test_two_languages_align_without_a_dictionary(alignment):
    result = damastes.evaluate(alignment, samples.lexicon())
    assert result.precision[1] > 0.85
    assert alignment.translate("parliament", k=2)[0][0] == "parlamento"


@pytest.mark.parametrize("ordered", [True, False])
def test_renaming_every_word_gives_the_same_bits(ordered):
    clouds = scene("words", 5, n=200, d=15, noise=0.1)[:2]
    one, other = (
        damastes.align(
            *(damastes.Vectors([f"{name}-{i}" for i in range(len(Z))], Z, ordered=ordered) for name, Z in named)
        )
        for named in (zip("xy", clouds, strict=True), zip(("same", "same"), clouds, strict=True))
    )
    assert np.array_equal(one.Q, other.Q)


def test_same_seed_same_bits_other_seed_other_bits(tmp_path):
    X, Y, *_ = scene("words", 5, n=200, d=15, noise=0.1)
    one, same, other = (damastes.align(X, Y, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.Q, same.Q)
    assert not np.array_equal(one.Q, other.Q)
    one.save(tmp_path / "one.safetensors")
    same.save(tmp_path / "same.safetensors")
    # Nor does the record depend on where in memory the functions of a recipe happened to be.
    assert "0x" not in str(one.map.made) + str(one.history["routes"])
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "same.safetensors").read_bytes()


def test_q_is_orthogonal_and_inputs_stay_untouched():
    X, Y, *_ = scene("words", 5, n=200, d=15, noise=0.1)
    before = X.copy(), Y.copy()
    Q = damastes.align(X, Y).Q
    np.testing.assert_allclose(Q.T @ Q, np.eye(15), atol=1e-10)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


@pytest.mark.parametrize("recipe", ["paper", "authors"])
def test_recipes_of_the_paper_and_of_its_authors_run(recipe):
    """On few points every batch is the whole cloud, so the long schedules are quick enough to run for real."""
    X, Y, _, partner = scene("mixture", 1, n=60, d=6)
    short = Stochastic(schedule=(Phase(30, 500),))
    assert recovered(damastes.align(X, Y, recipe=recipe, solver=short), partner) > 0.95


def test_history_and_seconds_tell_what_happened(alignment):
    assert set(alignment.seconds) == {"frame", "start", "solver", "refinement", "verdict"}
    assert all(seconds > 0 for seconds in alignment.seconds.values())
    costs = [record["cost"] for record in alignment.history["solver"]]
    assert np.mean(costs[-20:]) < costs[0]
    assert alignment.history["start"]["n_iter"] >= 1
    assert alignment.history["refinement"][-1]["n_pairs"] > 700


def test_progress_is_called_and_can_stop_the_work(english, spanish):
    stages = []

    class Enough(Exception):  # noqa: N818
        pass

    def progress(stage, done, total, info):
        stages.append(stage)
        if stage == "stochastic" and done == 5:
            raise Enough

    with pytest.raises(Enough):
        damastes.align(english, spanish, progress=progress)
    assert stages.count("stochastic") == 5
    assert "relaxation" in stages


def test_neighbours_translate_and_lexicon_agree(alignment):
    found = alignment.neighbours(3)
    row = alignment.source.row("water")
    assert [label for label, _ in alignment.translate("water", k=3)] == [
        alignment.target.label(j) for j in found.indices[row]
    ]
    pairs = alignment.mutual_pairs()
    assert np.array_equal(found.indices[pairs.source, 0], pairs.target)
    backward = alignment.neighbours(1, backward=True)
    assert np.array_equal(backward.indices[pairs.target, 0], pairs.source)
    scores = [score for _, score in alignment.translate("water", retriever=ISF())]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[0] <= 1


def test_unseen_vectors_map_like_seen_ones(english, spanish, alignment):
    rows = np.arange(1900, 1950)
    mapped = alignment.transform(english.matrix)
    np.testing.assert_allclose(alignment.transform(english.matrix[rows]), mapped[rows], atol=1e-6)
    np.testing.assert_allclose(alignment.inverse_transform(mapped), english.matrix, atol=1e-3)


def test_known_pairs_by_label_row_and_weight(english, spanish):
    english, spanish = english.head(600), spanish.head(600)
    pairs = [("house", "casa"), ("water", "agua"), ("year", "año")]
    pairs = [pair for pair in pairs if pair[0] in english and pair[1] in spanish]
    assert pairs
    rows = [(english.row(a), spanish.row(b)) for a, b in pairs]
    by_label = damastes.align(english, spanish, pairs=pairs, **QUICK).Q
    assert np.array_equal(by_label, damastes.align(english, spanish, pairs=np.array(rows), **QUICK).Q)
    weighted = damastes.align(english, spanish, pairs=[(*pair, 2.0) for pair in pairs], **QUICK).Q
    np.testing.assert_allclose(weighted, damastes.align(english, spanish, pairs=pairs * 2, **QUICK).Q, atol=2e-4)
    unsupervised = damastes.align(english, spanish, **QUICK).Q
    assert np.array_equal(damastes.align(english, spanish, pairs=[], **QUICK).Q, unsupervised)
    assert not np.array_equal(by_label, unsupervised)


def test_many_pairs_tend_to_supervised_procrustes():
    X, Y, _, partner = scene("words", 3, n=400, d=8, noise=0.3)
    pairs = np.stack([np.arange(400), partner], axis=1)
    distances = []
    for weight in (0.1, 10, 1000):
        weighted = np.column_stack([pairs, np.full(400, weight)])
        alignment = damastes.align(X, Y, pairs=weighted, **QUICK)
        supervised = orthogonal_procrustes(alignment.map.source_frame(X), alignment.map.target_frame(Y)[partner])
        distances.append(np.linalg.norm(alignment.Q - supervised))
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-2


def test_known_pairs_reach_a_cloud_that_shapes_can_not():
    """Gaussian clouds have no shape to go by; pairs of a quarter of the points do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    Q = orthogonal(10, 10, rng)
    order = rng.permutation(200)
    pairs = np.stack([order[:50], np.arange(50)], axis=1)
    alignment = damastes.align(X, (X @ Q)[order], initializer=Random(), pairs=pairs, **QUICK)
    assert np.mean(alignment.neighbours(1, retriever=Nearest()).indices[order, 0] == np.arange(200)) == 1


NAN = np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 1.0]])
GOOD = np.random.default_rng(0).standard_normal((50, 5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((NAN, GOOD), "source must hold finite numbers; row 1 has nan"),
        ((GOOD, NAN), "target must hold finite numbers"),
        ((np.vstack([GOOD, np.zeros(5)]), GOOD), "row 50 is all zeros.*Drop"),
        ((np.zeros((0, 5)), GOOD), "source must hold at least"),
        ((GOOD[:1], GOOD), "source must hold at least 2 points"),
        ((GOOD[0], GOOD), "source must be 2-D"),
        (("words.vec", GOOD), "source must be a 2-D array of numbers"),
        ((GOOD + 1j, GOOD), "real numbers"),
    ],
)
def test_bad_clouds_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        damastes.align(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "best"}, "recipe must be .* default, paper, authors"),
        ({"pairs": [(0, 50)]}, "target has 50 rows"),
        ({"pairs": [(-1, 0)]}, "source has 50 rows"),
        ({"pairs": [(0.5, 1)]}, "whole row numbers"),
        ({"pairs": [(0, 1, -1.0)]}, "weights of 0 or more"),
        ({"pairs": [(0, 1, 2, 3)]}, "pairs must be"),
        ({"pairs": [1, 2]}, "pairs must be .*, got 1"),
        ({"pairs": [(0, 1), (2,)]}, r"pairs must be .*, got \(2,\)"),
        ({"pairs": zip([0], [50], strict=True)}, "target has 50 rows"),
        ({"random_state": -1}, "random_state must be 0 or more, got -1"),
        ({"via": np.zeros((20, 4))}, "via must hold vectors with a direction"),
        ({"via": np.ones((1, 4))}, "via must .*at least 2 points"),
        ({"pairs": [("a", "b")]}, "'a' is not among"),
        ({"initializer": Anchors()}, "needs known pairs"),
        ({"random_state": "seed"}, "random_state"),
        ({"solver": Stochastic(schedule=(Phase(1, 0),))}, "batch_size"),
        ({"initializer": Convex(n_points=1)}, "n_points"),
        ({"refinement": Refinement(limit=0)}, "limit"),
    ],
)
def test_bad_options_say_what_is_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        damastes.align(GOOD, GOOD, **options)


@pytest.mark.parametrize("narrow", [0, 1])
def test_two_precisions_meet_in_the_wider(asarray, narrow):
    X, Y, *_ = scene("mixture", 0, n=50, d=5)
    clouds = [asarray(Z, "float32" if side == narrow else "float64") for side, Z in enumerate((X, Y))]
    alignment = damastes.align(*clouds, **QUICK)
    assert alignment.Q.dtype == clouds[1 - narrow].dtype


def test_one_label_names_the_bad_row():
    with pytest.raises(ValueError, match=r"row 1 \('zürich'\)"):
        damastes.Vectors(["bern", "zürich"], [[1.0, 2.0], [np.nan, 0.0]])


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: (10 * X).astype(np.int32),
        lambda X: X.astype(np.float16),
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X.tolist(),
    ],
    ids=["integers", "float16", "fortran", "strided", "lists"],
)
def test_ordinary_input_of_every_kind_works(convert):
    X, Y, _, partner = scene("mixture", 0, n=50, d=5)
    X, Y = np.round(100 * X), np.round(100 * Y)
    assert recovered(damastes.align(convert(X / 100), convert(Y / 100), **QUICK), partner) >= 0.9


@pytest.mark.parametrize(("n", "m", "d"), [(2, 2, 1), (2, 5, 3), (50, 50, 300), (3, 50, 4), (50, 7, 2)])
def test_tiny_clouds_and_more_dimensions_than_points(n, m, d):
    rng = np.random.default_rng(0)
    alignment = damastes.align(rng.standard_normal((n, d)), rng.standard_normal((m, d)), **QUICK)
    assert np.isfinite(alignment.Q).all()
    assert alignment.neighbours(1).indices.shape == (n, 1)


@pytest.mark.parametrize(
    ("n", "m", "d"), [(2, 2, 1), (2, 5, 3), (3, 50, 4), (50, 7, 2), (25, 30, 5), (20, 22, 25), (50, 60, 3)]
)
def test_tiny_clouds_go_through_the_whole_default(n, m, d):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    alignment = damastes.align(X, Y)
    np.testing.assert_allclose(alignment.Q.T @ alignment.Q, np.eye(d), atol=1e-6)
    assert np.isfinite(alignment.embed_source()).all()
    assert np.isfinite(alignment.transform(X)).all()
    assert alignment.verdict.label != "aligned"


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_flat_clouds_go_through_the_whole_default(rank):
    rng = np.random.default_rng(0)
    X, Y = (1 + cloud(40, rank, rng) @ rng.standard_normal((rank, 6)) for _ in range(2))
    alignment = damastes.align(X, Y)
    np.testing.assert_allclose(alignment.Q.T @ alignment.Q, np.eye(6), atol=1e-6)
    assert np.isfinite(alignment.transform(X)).all()


def test_limits_above_the_data_are_fine():
    X, Y, _, partner = scene("mixture", 0, n=50, d=5)
    alignment = damastes.align(
        X,
        Y,
        initializer=Convex(n_points=10**6),
        solver=Stochastic(schedule=(Phase(20, 10**6),), pool=10**6),
        refinement=Refinement(limit=10**6),
    )
    assert recovered(alignment, partner) == 1


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    X, Y, _, partner = scene("words", 2, n=300, d=20)
    X, Y = torch.asarray(X, dtype=torch.float32), torch.asarray(Y, dtype=torch.float32)
    alignment = damastes.align(X, Y, **QUICK)
    assert isinstance(alignment.Q, torch.Tensor)
    assert alignment.Q.dtype == torch.float32
    assert isinstance(alignment.transform(X), torch.Tensor)
    assert recovered(alignment, partner) == 1


def test_every_library_goes_through_the_whole_default(asarray):
    X, Y, Q, partner = scene("words", 1, n=60, d=8)
    alignment = damastes.align(asarray(X, "float32"), asarray(Y, "float32"))
    for array in (alignment.Q, alignment.map.metric, alignment.embed_source()):
        assert_same_kind(array, asarray(X, "float32"))
    np.testing.assert_allclose(np.from_dlpack(alignment.Q), Q, atol=1e-3)
    assert recovered(alignment, partner) == 1


def test_mixed_libraries_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="one library"):
        damastes.align(GOOD, torch.asarray(GOOD))


def test_certificate_is_tight_for_a_rotation_and_honest_otherwise(alignment):
    X, Y, _, _ = scene("mixture", 0, n=60, d=5)
    tight = damastes.align(X, Y, **QUICK).certificate()
    assert tight.excess < 1e-5
    loose = alignment.certificate(200)
    assert 0 <= loose.lower_bound < loose.value


@pytest.mark.parametrize(
    ("kind", "n", "d", "d_target", "extra"),
    [
        ("words", 50, 8, 8, 0),
        ("mixture", 50, 20, 20, 0),
        ("words", 200, 30, 40, 0),
        ("words", 200, 40, 30, 0),
        ("mixture", 200, 20, 20, 40),
    ],
)
def test_the_default_recovers_rotations_of_arrays_in_no_order(kind, n, d, d_target, extra):
    X, Y, Q, partner = scene(kind, 1, n=n, d=d, d_target=d_target, extra=extra)
    alignment = damastes.align(X, Y)
    assert alignment.verdict.label == "aligned"
    assert recovered(alignment, partner) == 1
    np.testing.assert_allclose(alignment.Q, Q, atol=1e-3 if extra == 0 else 0.1)


def test_the_metric_of_the_last_step_is_part_of_the_map(alignment, tmp_path):
    metric = alignment.map.metric
    np.testing.assert_allclose(metric, metric.T, atol=1e-5)
    weights = np.linalg.eigvalsh(metric)
    assert -1e-5 < weights.min() < 0.5 < weights.max() < 1 + 1e-5
    alignment.save(tmp_path / "map.safetensors")
    loaded = damastes.load_map(tmp_path / "map.safetensors")
    assert np.array_equal(loaded.embed_source(alignment.source.matrix), alignment.embed_source())
    assert np.array_equal(loaded.embed_target(alignment.target.matrix), alignment.embed_target())


class Fixed:
    """A start that is told where to begin, and counts how often it was asked."""

    def __init__(self, Q):
        self.Q, self.calls = Q, 0

    def __call__(self, X, Y, *, pairs, rng, progress):
        self.calls += 1
        return Start(self.Q, {"call": self.calls})


AS_IT_IS = Stochastic(schedule=())


def of_routes(*routes, finish=None):
    """A recipe that tries these and changes nothing afterwards."""
    first, *others = (route if isinstance(route, Route) else Route(route, AS_IT_IS) for route in routes)
    refinement = Refinement(n_epochs=0)
    return Recipe("of routes", Frame(), first.initializer, first.solver, refinement, finish, tuple(others))


class TestRoutes:
    @pytest.fixture
    def rotated(self):
        return scene("words", 4, n=200, d=15)

    def test_a_fallback_is_taken_when_the_first_fails(self, rotated):
        X, Y, Q, partner = rotated
        lost = damastes.align(X, Y, recipe=of_routes(Random()))
        assert lost.verdict.label == "failed"
        assert recovered(lost, partner) < 0.1
        alignment = damastes.align(X, Y, recipe=of_routes(Random(), Route(Convex(), QUICK["solver"])))
        assert alignment.verdict.label == "aligned"
        assert recovered(alignment, partner) == 1
        np.testing.assert_allclose(alignment.Q, Q, atol=1e-3)
        first, second = alignment.history["routes"]
        assert first["initializer"] == "Random()"
        assert second["initializer"].startswith("Convex(")
        assert (first["solver"], second["solver"]) == (repr(AS_IT_IS), repr(QUICK["solver"]))
        assert (first["verdict"]["label"], second["verdict"]["label"]) == ("failed", "aligned")
        assert "final_verdict" not in first
        assert second["final_verdict"] == alignment.verdict.to_json()
        assert first["verdict"]["score"] < second["verdict"]["score"]
        # The rest of the history is that of the route taken.
        assert alignment.history["start"]["n_iter"] >= 1
        assert len(alignment.history["solver"]) == 60
        assert json.loads(json.dumps(alignment.history["routes"])) == alignment.history["routes"]

    def test_clouds_without_an_order_have_fallbacks_of_their_own(self, rotated):
        X, Y, Q, _ = rotated
        routes = of_routes(Fixed(-Q), Fixed(-Q))
        both = dataclasses.replace(routes, unordered_fallbacks=(Route(Fixed(Q), AS_IT_IS),))
        ordered, unordered, neither = (
            damastes.align(*(damastes.Vectors(None, Z, ordered=order) for Z in (X, Y)), recipe=recipe)
            for order, recipe in ((True, both), (False, both), (False, routes))
        )
        assert [a.verdict.label for a in (ordered, unordered, neither)] == ["failed", "aligned", "failed"]
        assert [len(a.history["routes"]) for a in (ordered, unordered, neither)] == [2, 2, 2]

    def test_known_pairs_may_be_the_way_out(self, rotated):
        X, Y, _, partner = rotated
        pairs = np.stack([np.arange(40), partner[:40]], axis=1)
        alignment = damastes.align(X, Y, recipe=of_routes(Random(), Anchors()), pairs=pairs)
        assert recovered(alignment, partner) == 1
        assert alignment.history["start"] == {"n_pairs": 40}

    def test_nothing_else_is_tried_when_the_first_succeeds(self, rotated):
        X, Y, Q, partner = rotated
        unused = Fixed(-Q)
        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(Q), unused))
        assert unused.calls == 0
        assert [route["verdict"]["label"] for route in alignment.history["routes"]] == ["aligned"]
        assert recovered(alignment, partner) == 1

    @pytest.mark.parametrize("part", ["initializer", "solver"])
    def test_nothing_else_is_tried_when_one_is_asked_for(self, rotated, part):
        X, Y, Q, _ = rotated
        first, unused = Fixed(-Q), Fixed(Q)
        asked = {"initializer": first, "solver": AS_IT_IS}[part]
        alignment = damastes.align(X, Y, recipe=of_routes(first, unused), **{part: asked})
        assert (first.calls, unused.calls) == (1, 0)
        assert "routes" not in alignment.history
        assert alignment.verdict.label == "failed"
        assert np.array_equal(alignment.Q, -Q)

    @pytest.mark.parametrize(
        ("scores", "chosen"), [((0.1, 0.5, 0.3), 1), ((0.5, 0.1, 0.3), 0), ((0.2, 0.2, 0.4), 2), ((0.2, 0.2, 0.2), 0)]
    )
    def test_the_best_goes_on_when_none_succeeds(self, rotated, monkeypatch, scores, chosen):
        X, Y, Q, _ = rotated
        verdicts = iter(
            [*(Verdict("uncertain", score, {"closeness": 0.0}) for score in scores), Verdict("failed", 0.0)]
        )
        monkeypatch.setattr("damastes.alignment.judge", lambda *_, **__: next(verdicts))
        starts = [Fixed(Q @ np.diag(np.where(np.arange(15) == k, -1.0, 1.0))) for k in range(3)]
        alignment = damastes.align(X, Y, recipe=of_routes(*starts))
        assert [route["verdict"]["score"] for route in alignment.history["routes"]] == list(scores)
        assert alignment.Q is starts[chosen].Q
        # The verdict on the alignment is that on the map it ends with.
        assert alignment.verdict == Verdict("failed", 0.0)

    @pytest.mark.parametrize(
        ("finals", "calls", "chosen"),
        [
            ((0.9,), (1, 0, 0), 0),
            ((0.4, 0.9), (1, 1, 0), 1),
            ((0.4, 0.1, 0.2), (1, 1, 1), 0),
            ((0.1, 0.2, 0.5), (1, 1, 1), 2),
        ],
    )
    def test_the_others_get_their_turn_when_the_end_of_a_promising_one_is_in_doubt(
        self, rotated, monkeypatch, finals, calls, chosen
    ):
        X, Y, Q, _ = rotated
        ends = iter(finals)

        def look(*_, thorough=True, **__):
            score = next(ends) if thorough else 0.8
            return Verdict("aligned" if score > 0.7 else "uncertain", score, {"closeness": 0.0})

        monkeypatch.setattr("damastes.alignment.judge", look)
        starts = [Fixed(Q @ np.diag(np.where(np.arange(15) == k, -1.0, 1.0))) for k in range(3)]
        alignment = damastes.align(X, Y, recipe=of_routes(*starts))
        assert tuple(start.calls for start in starts) == calls
        assert alignment.Q is starts[chosen].Q
        assert alignment.verdict.score == max(finals)
        assert [route["final_verdict"]["score"] for route in alignment.history["routes"]] == list(finals)

    @pytest.mark.parametrize("ordered", [True, False])
    def test_the_last_stages_follow_as_often_as_a_route_asks(self, rotated, ordered):
        X, Y, Q, _ = rotated
        sides = [damastes.Vectors(None, Z, ordered=ordered) for Z in (X, Y)]
        routes = of_routes(Fixed(-Q), Route(Fixed(Q), AS_IT_IS, passes=3))
        alignment = damastes.align(*sides, recipe=dataclasses.replace(routes, refinement=Refinement(n_epochs=2)))
        assert len(alignment.history["refinement"]) == 2 * 3

    @pytest.mark.parametrize("known", [False, True])
    def test_a_head_is_framed_by_itself_and_its_map_is_the_start_of_the_whole(self, rotated, known):
        X, Y, Q, partner = rotated
        # Points in order, the first 60 of which are far to one side, and their partners too.
        aside = np.zeros(15)
        aside[0] = 3.0
        X = np.concatenate([X[:60] + aside, X[60:]])
        Y = np.concatenate([Y[partner[:60]] + aside @ Q, Y[partner[60:]]])
        seen = []

        def watched(x, y, start, *, pairs, rng, progress=None):
            seen.append((x, y, len(pairs)))
            return Solution(start, [])

        sides = [damastes.Vectors(None, Z, ordered=True) for Z in (X, Y)]
        route = Route(Fixed(Q), watched, head=Head(60, watched))
        pairs = [(5, 5), (100, 100)] if known else None
        alignment = damastes.align(*sides, recipe=of_routes(Fixed(-Q), route), pairs=pairs)
        (x, y, n_pairs), (whole_x, whole_y, all_pairs) = seen
        assert (len(x), len(y), len(whole_x), len(whole_y)) == (60, 60, 200, 200)
        for Z in (x, y):
            assert np.linalg.norm(Z.mean(axis=0)) < 0.3 < np.linalg.norm(whole_x[:60].mean(axis=0))
        np.testing.assert_allclose(x @ Q, y, atol=1e-6)
        assert (n_pairs, all_pairs) == ((1, 2) if known else (0, 0))
        assert "head" not in alignment.history["routes"][0]
        assert alignment.history["routes"][1]["head"].startswith("Head(n_points=60, ")
        np.testing.assert_allclose(alignment.Q, Q, atol=1e-6)

    @pytest.mark.parametrize(("first", "further"), [("aligned", False), ("uncertain", True)])
    def test_a_route_goes_further_when_a_look_is_not_content(self, rotated, monkeypatch, first, further):
        X, Y, Q, _ = rotated
        labels = iter(["failed", first, "aligned", "aligned"])
        monkeypatch.setattr("damastes.alignment.judge", lambda *_, **__: Verdict(next(labels), 0.9, {"closeness": 0.0}))

        def go_on(x, y, start, *, pairs, rng, progress):
            np.testing.assert_array_equal(start, -Q)
            return Solution(Q, [{"step": 1.0}])

        last = Fixed(Q)
        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(-Q), Route(Fixed(-Q), AS_IT_IS, further=go_on), last))
        assert last.calls == 0
        np.testing.assert_array_equal(alignment.Q, Q if further else -Q)
        records = alignment.history["routes"]
        assert ["further" in record for record in records] == [False, False, *([True] if further else [])]
        assert "final_verdict" in records[-1]
        assert alignment.history.get("further") == ([{"step": 1.0}] if further else None)

    def test_a_route_that_was_ahead_before_it_went_further_is_not_lost(self, rotated, monkeypatch):
        X, Y, Q, _ = rotated
        scores = iter([0.1, 0.5, 0.3, 0.0])
        monkeypatch.setattr(
            "damastes.alignment.judge", lambda *_, **__: Verdict("uncertain", next(scores), {"closeness": 0.0})
        )

        def go_on(x, y, start, *, pairs, rng, progress):
            return Solution(-Q, [])

        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(-Q), Route(Fixed(Q), AS_IT_IS, further=go_on)))
        np.testing.assert_array_equal(alignment.Q, Q)

    def test_a_fallback_that_can_not_work_here_is_recorded(self, rotated):
        X, Y, Q, _ = rotated
        last = Fixed(Q)
        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(-Q), Anchors(), last))
        assert "needs known pairs" in alignment.history["routes"][1]["error"]
        assert "verdict" not in alignment.history["routes"][1]
        assert last.calls == 1
        assert alignment.verdict.label == "aligned"
        json.dumps(alignment.history["routes"])

    def test_a_first_route_that_can_not_work_says_so(self, rotated):
        X, Y, Q, _ = rotated
        with pytest.raises(ValueError, match="needs known pairs"):
            damastes.align(X, Y, recipe=of_routes(Anchors(), Fixed(Q)))

    def test_nothing_else_is_tried_where_nothing_can_be_judged(self):
        X, Y, Q, _ = scene("mixture", 0, n=15, d=5)
        unused = Fixed(Q)
        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(-Q), unused))
        assert unused.calls == 0
        assert alignment.verdict.label == "uncertain"
        assert len(alignment.history["routes"]) == 1

    def test_a_finish_carries_the_map_into_its_frame(self, rotated):
        X, Y, Q, partner = rotated
        alignment = damastes.align(X, Y, recipe=of_routes(Fixed(Q), finish=Frame(ridge=1.5)))
        assert alignment.map.source_frame.stretch is not None
        assert recovered(alignment, partner) > 0.99
        np.testing.assert_allclose(np.linalg.norm(alignment.Q - Q) / np.linalg.norm(Q), 0, atol=0.1)


class TestVerdict:
    def test_two_languages_that_align_are_said_to(self, alignment):
        assert alignment.verdict.label == "aligned"
        assert alignment.verdict.score > 0.9
        assert str(alignment.verdict).startswith("aligned (score ")
        assert json.loads(json.dumps(alignment.verdict.to_json())) == alignment.verdict.to_json()
        assert set(alignment.verdict.to_json()) == {"label", "score", "evidence"}

    def test_clouds_that_have_nothing_in_common_are_not(self):
        rng = np.random.default_rng(0)
        alignment = damastes.align(rng.standard_normal((300, 10)), rng.standard_normal((250, 10)), **QUICK)
        assert alignment.verdict.label == "failed"

    def test_every_recipe_has_one(self):
        X, Y, *_ = scene("mixture", 1, n=60, d=6)
        for recipe in ("default", "paper", "authors"):
            short = Stochastic(schedule=(Phase(30, 500),))
            assert damastes.align(X, Y, recipe=recipe, solver=short).verdict.label == "aligned"

    def test_how_often_somebody_looks_does_not_change_the_map(self, monkeypatch):
        X, Y, *_ = scene("mixture", 1, n=60, d=6)
        maps = []
        for draws in (1, 1000):
            scores = iter([0.1, 0.2, 0.2])

            def look(*_, rng, draws=draws, scores=scores, **__):
                rng.random(draws)
                return Verdict("failed", next(scores), {"closeness": 0.0})

            monkeypatch.setattr("damastes.alignment.judge", look)
            maps.append(damastes.align(X, Y, recipe=of_routes(Random(), Random()), random_state=0).Q)
        np.testing.assert_array_equal(*maps)

    def test_its_steps_are_reported(self):
        X, Y, *_ = scene("mixture", 1, n=120, d=6)
        calls = []
        damastes.align(X, Y, progress=lambda stage, done, total, info: calls.append((stage, done, total)), **QUICK)
        steps = [call[1:] for call in calls if call[0] == "verdict"]
        assert steps == [(k + 1, len(steps)) for k in range(len(steps))]
        assert steps
