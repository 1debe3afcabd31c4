from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from damastes.experiments import experiment
from damastes.experiments.cells import Setting
from damastes.experiments.claims import alternation, criteria, hubs, noisy_lexicon, random_start, restarts
from damastes.experiments.claims.clouds import Clouds
from damastes.experiments.data import Data
from damastes.retrieval import Nearest


def test_planted_words_come_home_under_the_right_map_alone():
    clouds = Clouds.planted(Data().load("sample"), 300, 0.5, seed=3)
    assert clouds.asks() == {"words": 300, "coverage": 1.0}
    assert clouds.accuracy(clouds.procrustes(), Nearest()) > 0.99
    # The rotation is none that a random start of the same seed would draw.
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((100, 100)))[0].astype(np.float32)
    assert clouds.accuracy(Q, Nearest()) < 0.05
    assert clouds.objective(clouds.procrustes()) < 0.5 * clouds.objective(Q)


def test_a_lexicon_asks_what_both_sides_have(cut_sample):
    problem = Data.open(cut_sample).load("en-fr")
    clouds = Clouds.of(problem, [*problem.train, ("nobody", "nadie")], 200)
    assert len(clouds.X) == len(clouds.Y) == 200
    assert 0 < len(clouds.answers) < clouds.n_words
    row, answers = next(iter(clouds.answers.items()))
    words = {problem.target.labels[answer] for answer in answers}
    assert words <= {b for a, b in problem.train if a == problem.source.labels[row]}


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_so_many_pairs_are_wrong(share):
    pairs = np.stack([np.arange(40), np.arange(40)], axis=1)
    wrong = noisy_lexicon.corrupted(pairs, share, np.random.default_rng(0))
    assert (wrong[:, 0] != wrong[:, 1]).sum() == 40 * share
    assert sorted(wrong[:, 1]) == list(range(40))
    assert (pairs[:, 0] == pairs[:, 1]).all()


def test_skewness():
    assert hubs.skewness(np.array([10, 10, 10])) == 0
    assert hubs.skewness(np.array([9, 10, 11])) == pytest.approx(0)
    # One hub among n points: (n − 2)/√(n − 1).
    assert hubs.skewness(np.array([0, 0, 0, 0, 7])) == pytest.approx(3 / 2)


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_chance_of_r_restarts(r):
    errors, successes = [3.0, 1.0, 2.0, 5.0, 4.0], [True, False, True, False, False]
    by_hand = [successes[min(some, key=lambda k: errors[k])] for some in product(range(5), repeat=r)]
    assert restarts.chance(errors, successes, r) == pytest.approx(np.mean(by_hand))


QUICK = Setting(Data(), quick=True)
WORDS = {"words": 500, "coverage": 0.5}


def answer(claim, result):
    return claim.layout(QUICK, {cell.key: result(cell.key) for cell in claim.cells(QUICK)}).answer


def test_answers_follow_the_figures():
    """Each claim laid out on figures that speak for it, and on figures that speak against it."""

    def ends(stuck):
        bad, good = ({"objective": 1.0, "accuracy": a, "steps": 7} for a in (0.01, 0.9))
        return {"objective": 0.5, "accuracy": 0.9, **WORDS, "alternating": bad if stuck else good, "Algorithm 1": good}

    assert answer(alternation, lambda key: ends("random" in key)).startswith(
        "holds. On planted, alternation ends in a bad minimum"
    )
    assert answer(alternation, lambda key: ends(False)).startswith("does not hold everywhere. ")

    def started(success):
        return {"accuracy": 0.9, "supervised": 0.9, "success": success}

    falls = answer(random_start, lambda key: started("convex" in key or ("noise 0/" in key and "random 0" not in key)))
    assert "first part holds: random starts succeed in 75, 0, 0 % of runs at noise 0, 0.5, 1. " in falls
    assert "The second part holds: the convex start succeeds in 100, 100, 100 %" in falls
    assert "first part does not show" in answer(random_start, lambda key: started(True))
    # One success more or less is chance.
    assert "first part does not show" in answer(random_start, lambda key: started(key.endswith("noise 0/random 0")))
    assert "second part does not hold at noise 0.5, 1:" in answer(random_start, lambda key: started("noise 0/" in key))
    always_at_first = answer(random_start, lambda key: started("convex" in key or "noise 0/" in key))
    assert "holds: random starts succeed in 100, 0, 0 % of runs" in always_at_first

    def restarted(success):
        return {**started(success), **WORDS, "error": 1.0 if success else 2.0, "seconds": 1.0, "another": 0.5}

    needed = answer(restarts, lambda key: restarted("convex" in key or key == "restarts/icp 3"))
    assert needed.startswith("holds: 1 of 4 restarts of ICP arrive, so that it takes 11 restarts")
    few = answer(restarts, lambda key: restarted("icp 0" not in key))
    assert few.startswith("does not hold: 3 of 4 restarts of ICP arrive, so that it takes 3 restarts")
    assert answer(restarts, lambda key: restarted(True)).startswith("does not hold: ")

    def refined(key, gain):
        gain = gain * (2 if "80 %" in key else 1)
        maps = {"Procrustes": {"NN": 0.5, "CSLS": 0.5}, "refined": {"NN": 0.5, "CSLS": 0.5 + gain}}
        return {**maps, "gain": gain, "margin": 0.02, **WORDS, "pairs": 9}

    better = answer(noisy_lexicon, lambda key: refined(key, 0.1))
    assert better.startswith("holds: ")
    assert "+10.0 ± 2.0 on sample points, clearly better on 1 and clearly worse on 0 of 1 pair" in better
    assert better.endswith("it makes up clearly for those that are 80 % wrong.")
    same = answer(noisy_lexicon, lambda key: refined(key, 0.001))
    assert same.startswith("makes no clear difference here: ")
    assert same.endswith("for none clearly.")
    assert answer(noisy_lexicon, lambda key: refined(key, -0.1)).startswith("does not hold: ")

    def swept(best_beta):
        chosen = {f"ISF, β = {best_beta}": 0.9, "CSLS, K = 10": 0.9}
        names = [
            *(f"ISF, β = {b}" for b in (5, 10, 25, 50, 100, 200)),
            *(f"CSLS, K = {k}" for k in (2, 5, 10, 25, 50, 100)),
        ]
        return {"precision": {name: chosen.get(name, 0.7 if "ISF" in name else 0.89) for name in names}, **WORDS}

    varying = answer(criteria, lambda key: swept(10 if "1250" in key else 50))
    assert "has to vary holds: the best β is 10, 50" in varying
    assert "loses 20.0 points" in varying
    assert "K matters little holds" in varying
    assert "has to vary does not show here" in answer(criteria, lambda key: swept(25))

    def skewed(nn):
        of = {"largest": 50, "never": 0.1, "precision": 0.8}
        return {"NN": {"skewness": nn, **of}, "CSLS": {"skewness": 2.0, **of}, "ISF": {"skewness": 3.0, **of}, **WORDS}

    for nn, verdict in ((4.0, "holds for both"), (2.5, "holds for CSLS alone"), (1.0, "does not hold")):
        assert answer(hubs, lambda key, nn=nn: skewed(nn)).startswith(verdict)
    # Under one map of three the hubs are no fewer.
    assert answer(hubs, lambda key: skewed(2.9 if key.endswith("0") else 4.0)).startswith("holds for CSLS alone")


@pytest.mark.parametrize("claim", [noisy_lexicon, criteria, hubs], ids=lambda claim: claim.__name__.split(".")[-1])
def test_claims_run_on_a_small_pair(cut_sample, claim):
    setting = Setting(Data.open(cut_sample), quick=True)
    results = {cell.key: cell.run(lambda *what: None) for cell in claim.cells(setting)}
    layout = claim.layout(setting, results)
    assert "coverage" in layout.to_text()
    assert layout.claim.endswith(").")


@pytest.mark.parametrize("claim", [random_start, restarts], ids=lambda claim: claim.__name__.split(".")[-1])
def test_no_name_is_left_in_the_words(claim):
    result = {
        "accuracy": 0.9,
        "supervised": 0.9,
        "success": True,
        **WORDS,
        "error": 1.0,
        "seconds": 1.0,
        "another": 0.5,
    }
    text = claim.layout(QUICK, {cell.key: result for cell in claim.cells(QUICK)}).to_text()
    assert "{" not in text


def test_all_claims_have_their_own_cells():
    found = experiment("claims").cells(QUICK)
    assert len({cell.key for cell in found}) == len(found)
    assert {cell.key.split("/")[0] for cell in found} == {
        *("alternation", "random start", "restarts", "noisy lexicon", "criteria", "hubs")
    }


def test_a_random_start_and_a_restart_run():
    for claim, key in ((random_start, "random start/noise 0/random 0"), (restarts, "restarts/icp 0")):
        cell = next(cell for cell in claim.cells(QUICK) if cell.key == key)
        result = cell.run(lambda *what: None)
        assert result["supervised"] > 0.9
        assert 0 <= result["accuracy"] <= 1
