from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from damastes.errors import MissingExtraError
from damastes.experiments import experiment, languages
from damastes.experiments.cells import Setting
from damastes.experiments.data import Data
from damastes.experiments.running import run
from damastes.initializers import ICP, Adversarial
from damastes.solvers import Solution


@pytest.fixture(scope="module")
def short():
    """Baselines of no length: whether they arrive is their own tests' matter."""
    methods = languages._methods

    def shorter(quick):
        parts = {"Adversarial": Adversarial(n_epochs=1, epoch_size=320), "ICP": ICP(n_restarts=1, n_iter=2)}
        return [
            replace(m, recipe=replace(m.recipe, initializer=parts.get(m.name, m.recipe.initializer)))
            for m in methods(quick)
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "_methods", shorter)
        yield


@pytest.fixture(scope="module")
def outcomes(short, cut_sample, tmp_path_factory):
    pytest.importorskip("torch")
    out = tmp_path_factory.mktemp("out")
    setting = Setting(Data.open(cut_sample), quick=True)
    return {
        name: run(experiment(name), setting, out, command=f"damastes reproduce {name}") for name in ("table2", "table3")
    }


def numbers(outcome, name):
    row = next(row for row in outcome.layout.rows if row.name == name and not row.theirs)
    return dict(zip(outcome.layout.columns, map(float, row.values), strict=True))


def test_both_tables_come_from_the_same_fits(outcomes):
    assert outcomes["table3"].n_kept == len(outcomes["table3"].record["cells"]) == 5
    assert outcomes["table3"].record["cells"] == outcomes["table2"].record["cells"]


def test_words_are_translated_in_both_directions(outcomes):
    for name in ("table2", "table3"):
        for way in ("en-fr", "fr-en"):
            for criterion in ("NN", "CSLS", "ISF"):
                found = numbers(outcomes[name], f"{way} {criterion}")
                # 500 words and training pairs for half of them.
                assert found["Procrustes"] > 60
    assert numbers(outcomes["table2"], "en-fr CSLS")["ours (default)"] > 70


def test_table_3_is_before_and_table_2_after_refinement(outcomes):
    cells = outcomes["table2"].record["cells"]
    result = cells["en-fr/Procrustes/seed 0"]["result"]
    for name, stage in (("table2", "after"), ("table3", "before")):
        shown = numbers(outcomes[name], "fr-en CSLS")["Procrustes"]
        assert shown == pytest.approx(100 * result[stage]["backward"]["csls"], abs=0.051)
    assert any(cell["result"]["before"] != cell["result"]["after"] for cell in cells.values())


def test_only_procrustes_sees_the_lexicon(cut_sample):
    """Without its training pairs Procrustes has nothing to start from; the others do not notice."""
    data = Data.open(cut_sample)
    problem = data.load("en-fr")
    data._last["en-fr"] = replace(problem, train=[], train_backward=[])
    by_name = {method.name: method for method in languages._methods(True)}
    with pytest.raises(ValueError, match="needs known pairs"):
        languages._run(data, "en-fr", True, by_name["Procrustes"], 0, lambda *what: None)
    blind = languages._run(data, "en-fr", True, by_name["ours (paper)"], 0, lambda *what: None)
    data._last["en-fr"] = problem
    seeing = languages._run(data, "en-fr", True, by_name["ours (paper)"], 0, lambda *what: None)
    assert blind["after"] == seeing["after"]


def test_refinement_does_not_see_the_lexicon(cut_sample):
    seen = []

    def refinement(X, Y, Q, *, pairs, rng, progress):
        seen.append(len(pairs))
        return Solution(Q)

    method = languages._methods(True)[0]
    method = replace(method, recipe=replace(method.recipe, refinement=refinement))
    result = languages._run(Data.open(cut_sample), "en-fr", True, method, 0, lambda *what: None)
    assert seen == [0, 0]  # a map for each direction
    assert result["before"] == result["after"]


def test_each_direction_learns_from_its_own_lexicon(cut_sample):
    """Backward test words are in the forward training lexicon, so that a map of that would have seen the answers."""
    data = Data.open(cut_sample)
    problem = data.load("en-fr")
    method = languages._methods(True)[0]
    both = languages._run(data, "en-fr", True, method, 0, lambda *what: None)
    data._last["en-fr"] = replace(problem, train_backward=problem.train_backward[:60])
    less = languages._run(data, "en-fr", True, method, 0, lambda *what: None)
    assert less["before"]["forward"] == both["before"]["forward"]
    assert less["before"]["backward"]["csls"] < both["before"]["backward"]["csls"]


def test_the_map_before_refinement_is_that_of_the_route_that_won():
    maps = [np.eye(2) * k for k in range(6)]
    steps = [(maps[0], maps[1]), (maps[1], maps[2]), (maps[3], maps[4]), (maps[4], maps[5])]
    assert languages._unrefined(maps[5], steps) is maps[3]
    assert languages._unrefined(maps[2], steps) is maps[0]
    assert languages._unrefined(maps[0], []) is maps[0]


def test_the_papers_numbers_stand_beside_ours(outcomes):
    rows = list(outcomes["table2"].layout.rows)
    place = next(k for k, row in enumerate(rows) if row.theirs)
    assert rows[place - 1].name == "en-fr ISF"
    assert (rows[place].name, list(rows[place].values)) == ("en-fr CSLS", ["82.7", "82.3", "82.3", "82.6", "–"])
    theirs = {row.name: list(row.values) for row in outcomes["table3"].layout.rows if row.theirs}
    assert len(theirs) == 24
    assert theirs["en-fr NN"] == ["77.0", "70.4", "–", "75.0", "–"]
    assert theirs["ru-en ISF"] == ["67.8", "–", "–", "50.3", "–"]


def test_it_says_on_what_it_was_measured(outcomes):
    for outcome in outcomes.values():
        text = outcome.layout.to_text()
        words = outcome.record["cells"]["en-fr/ICP/seed 0"]["result"]["after"]["forward"]["words"]
        assert f"en-fr: forward {words} words, coverage 100 %" in text
        assert "ours (paper) 1" in text


def test_seeds(cut_sample):
    def keys(**options):
        return [cell.key for cell in languages.cells(Setting(Data.open(cut_sample), **options))]

    assert sum("ours (paper)" in key for key in keys()) == 3
    assert sum("ICP" in key for key in keys()) == 3
    assert sum("Procrustes" in key for key in keys(seeds=2)) == 1
    assert sum("Adversarial" in key for key in keys(seeds=2)) == 2


def test_without_torch_it_says_what_to_install_before_the_work(cut_sample, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'damastes\[torch\]'"):
        experiment("table2").needs(Setting(Data.open(cut_sample)))
