from __future__ import annotations

import json
import sys

import pytest

import damastes.experiments
from damastes.experiments import NAMES, experiment
from damastes.experiments.cells import Cell, Experiment
from damastes.experiments.layout import Layout, Row


@pytest.fixture
def tiny(monkeypatch):
    """Every experiment replaced by one of two cells that takes no time."""

    def make(name):
        def cells(setting):
            return [Cell(f"pair/seed {seed}", {"seed": seed}, lambda progress: {"value": 1}) for seed in range(2)]

        def layout(setting, results):
            return Layout(f"The {name}", "cell", ["value"], [Row("a", ["1"])], ["9 words"], quick=setting.quick)

        return Experiment(name, cells, layout)

    monkeypatch.setattr(damastes.experiments, "experiment", make)


@pytest.mark.parametrize("name", NAMES)
def test_registered_experiments_know_their_names(name):
    assert experiment(name).name == name


def test_prints_the_table_and_where_it_is(call, tmp_path, tiny):
    done = call("reproduce", "table4", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The table4\n\ncell  value\na         1\n\n- 9 words\n")
    assert f"Written to {tmp_path}/: table4.json, table4.md\n" in done.stdout
    assert done.stderr.splitlines() == ["table4: 1 of 2, pair/seed 0", "table4: 2 of 2, pair/seed 1"]
    again = call("reproduce", "table4", "-o", tmp_path)
    assert again.stderr == ""
    assert "cells that were there already: 2" in again.stdout
    assert "already" not in call("reproduce", "table4", "-o", tmp_path, "--fresh").stdout


def test_all_is_all(call, tmp_path, tiny):
    done = call("reproduce", "all", "-o", tmp_path, "--quick", "--json")
    assert list(done.json) == list(NAMES)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == sorted(f"{name}-quick.json" for name in NAMES)


def test_json_is_the_file(call, tmp_path, tiny):
    done = call("reproduce", "table4", "-o", tmp_path, "--json", "--seeds", 2)
    assert done.json == json.loads((tmp_path / "table4.json").read_text(encoding="utf-8"))
    assert done.json["runs"][0]["command"] == "damastes reproduce table4 --seeds 2"


def test_no_paths_are_recorded(call, tmp_path, tiny):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("words\n", encoding="utf-8")
    done = call("reproduce", "table1", "-o", tmp_path / "out", "--corpus", corpus, "--json")
    assert done.json["runs"][0]["command"] == "damastes reproduce table1 --corpus corpus.txt"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["table1-corpus.json", "table1-corpus.md"]
    assert str(tmp_path) not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Missing argument 'NAME'"]),
        (("table99",), ["no experiment named 'table99'", "table4", "or all"]),
        (("all", "table99"), ["no experiment named 'table99'", "table4", "or all"]),
        (("table4", "--data", "nowhere"), ["nowhere: expected a folder", "damastes fetch wiki.en.vec"]),
        (("table4", "--data", "."), ["damastes fetch wiki.en.vec"]),
        (("table1", "--corpus", "nowhere.txt"), ["nowhere.txt: there is no such file"]),
        (("table4", "--corpus", "file"), ["--corpus is for table1 alone, got it with table4"]),
        (("table4", "--seeds", "0"), ["--seeds"]),
        (("table4", "-o", "file"), ["file: expected a directory"]),
    ],
)
def test_bad_input(call, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    call("reproduce", *arguments).assert_one_line_error(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_all_asks_for_every_extra_before_the_work(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = call("reproduce", "all", "--quick", "-o", tmp_path / "out")
    done.assert_one_line_error("pip install 'damastes[torch]'", status=1)
    assert not (tmp_path / "out").exists()


def test_a_missing_extra_says_what_to_install(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("reproduce", "figure1", "-o", tmp_path)
    done.assert_one_line_error("pip install 'damastes[plot]'", status=1)
