from __future__ import annotations

import pytest

from damastes.experiments import experiment
from damastes.experiments.cells import Setting
from damastes.experiments.data import Data
from damastes.experiments.running import run


@pytest.fixture(scope="module")
def outcome(cut_sample, tmp_path_factory):
    setting = Setting(Data.open(cut_sample), quick=True)
    return run(experiment("table4"), setting, tmp_path_factory.mktemp("out"), command="damastes reproduce table4")


def numbers(outcome, name):
    row = next(row for row in outcome.layout.rows if row.name == name and not row.theirs)
    return [float(value.split()[0]) for value in row.values]


def test_larger_batches_come_nearer_to_the_full_objective(outcome):
    above = numbers(outcome, "above the full one")
    # 800 and 1600 are cut to the 500 points there are.
    assert above[0] > above[1] > above[2] > above[3] == above[4] == 0


def test_the_alignment_works(outcome):
    assert numbers(outcome, "en-fr NN")[4] > 70
    assert numbers(outcome, "en-fr CSLS")[4] > 70


def test_the_papers_numbers_stand_beside_ours(outcome):
    theirs = {row.name: list(row.values) for row in outcome.layout.rows if row.theirs}
    assert theirs["en-fr NN"] == ["67.4", "71.9", "74.5", "75.6", "75.7"]
    assert theirs["time"] == ["107 s", "127 s", "174 s", "334 s", "1333 s"]


def test_it_says_on_what_it_was_measured(outcome):
    text = outcome.layout.to_text()
    words = outcome.record["cells"]["en-fr/batch 100/seed 0"]["result"]["precision"]["forward"]["words"]
    assert f"forward {words} words, coverage 100 %" in text
    assert "1 seed" in text


def test_more_seeds_give_a_spread(cut_sample):
    setting = Setting(Data.open(cut_sample), seeds=2)
    results = {
        cell.key: {
            "cost": 1.0,
            "n_iter": 4000,
            "seconds": 40.0 + 20 * ("seed 1" in cell.key),
            "precision": {"forward": {"nn": 0.5, "csls": 0.6, "words": 9, "coverage": 0.5}},
        }
        for cell in experiment("table4").cells(setting)
    }
    rows = experiment("table4").layout(setting, results).rows
    assert rows[0].values[0] == "50 ± 14 s"
    assert rows[1].values[0] == "12.5 ± 3.5"
    assert rows[2].values[0] == "50.0 ± 0.0"


def test_a_learning_rate_as_small_as_the_batch_helps_small_batches(outcome):
    row = next(row for row in outcome.layout.rows if row.name == "en-fr NN, lr = batch")
    assert float(row.values[0]) > numbers(outcome, "en-fr NN")[0]
    assert list(row.values[2:]) == ["–", "–", "–"]
