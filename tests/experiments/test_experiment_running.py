"""Cells are computed once and kept: after an interruption, with more seeds, until what they depend on changes."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from damastes.errors import FileFormatError
from damastes.experiments.cells import Cell, Experiment, Setting
from damastes.experiments.data import Data
from damastes.experiments.layout import Layout, Row
from damastes.experiments.running import run


class Counter:
    """An experiment that counts its work, and is interrupted where one says."""

    def __init__(self):
        self.ran = []
        self.stop_at = None
        self.inputs = {"data": "abc", "strategy": "Step(function=<function step at 0x7f01>)"}

    def experiment(self, name="table9"):
        return Experiment(name, self.cells, self.layout)

    def cells(self, setting):
        return [
            Cell(
                f"pair/seed {seed}",
                {**self.inputs, "seed": seed},
                lambda progress, seed=seed: self.work(seed, progress),
            )
            for seed in range(setting.n_seeds(3))
        ]

    def work(self, seed, progress):
        progress("steps", 1, 2, {})
        if seed == self.stop_at:
            raise KeyboardInterrupt
        self.ran.append(seed)
        return {"value": seed / 2, "by_size": {1: 2}}

    def layout(self, setting, results):
        assert all(result["by_size"] == {"1": 2} for result in results.values())  # as it is in the file
        rows = [Row(key, [f"{result['value']:.1f}"]) for key, result in results.items()]
        return Layout("Table 9", "cell", ["value"], rows, ["3 words"], quick=setting.quick)


@pytest.fixture
def counter():
    return Counter()


def go(counter, out, **options):
    setting = Setting(Data(), quick=options.pop("quick", False), seeds=options.pop("seeds", None))
    return run(counter.experiment(), setting, out, command="damastes reproduce table9", **options)


def stored(out, name="table9"):
    return json.loads((out / f"{name}.json").read_text(encoding="utf-8"))


def test_an_interrupted_run_goes_on_where_it_stopped(counter, tmp_path):
    counter.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        go(counter, tmp_path)
    assert list(stored(tmp_path)["cells"]) == ["pair/seed 0", "pair/seed 1"]
    counter.stop_at = None
    outcome = go(counter, tmp_path)
    assert counter.ran == [0, 1, 2]
    assert outcome.n_kept == 2
    assert [run["id"] for run in stored(tmp_path)["runs"]] == [1, 2]
    assert [cell["run"] for cell in stored(tmp_path)["cells"].values()] == [1, 1, 2]
    assert (tmp_path / "table9.md").read_text(encoding="utf-8").startswith("# Table 9\n")


def test_nothing_is_done_twice(counter, tmp_path):
    first = go(counter, tmp_path)
    again = go(counter, tmp_path)
    assert counter.ran == [0, 1, 2]
    assert again.record == first.record == stored(tmp_path)


def test_changed_inputs_are_computed_again(counter, tmp_path):
    go(counter, tmp_path)
    counter.inputs["data"] = "xyz"
    assert go(counter, tmp_path).n_kept == 0
    assert counter.ran == [0, 1, 2] * 2
    assert {cell["inputs"]["data"] for cell in stored(tmp_path)["cells"].values()} == {"xyz"}


def test_where_functions_are_in_memory_is_no_input(counter, tmp_path):
    go(counter, tmp_path)
    counter.inputs["strategy"] = "Step(function=<function step at 0x7f02>)"
    assert go(counter, tmp_path).n_kept == 3


def test_another_version_computes_again(counter, tmp_path, monkeypatch):
    go(counter, tmp_path)
    monkeypatch.setattr("damastes.experiments.running.version", lambda name: "99")
    assert go(counter, tmp_path).n_kept == 0


def test_fresh_computes_again(counter, tmp_path):
    go(counter, tmp_path)
    assert go(counter, tmp_path, fresh=True).n_kept == 0
    assert counter.ran == [0, 1, 2] * 2


def test_a_quick_run_leaves_the_complete_one_alone(counter, tmp_path):
    go(counter, tmp_path)
    before = stored(tmp_path)
    quick = go(counter, tmp_path, quick=True)
    assert quick.files == ("table9-quick.json", "table9-quick.md")
    assert quick.layout.quick
    assert counter.ran == [0, 1, 2, 0]
    assert stored(tmp_path) == before


def test_fewer_seeds_do_not_throw_the_others_away(counter, tmp_path):
    go(counter, tmp_path)
    few = go(counter, tmp_path, seeds=1)
    assert [row.name for row in few.layout.rows] == ["pair/seed 0"]
    assert len(stored(tmp_path)["cells"]) == 3
    assert go(counter, tmp_path, seeds=4).n_kept == 3
    assert counter.ran == [0, 1, 2, 3]


def test_experiments_do_not_share_files(counter, tmp_path):
    go(counter, tmp_path)
    other = Counter()
    run(other.experiment("table8"), Setting(Data()), tmp_path, command="damastes reproduce table8")
    assert other.ran == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table8.json", "table8.md", "table9.json", "table9.md"]


def test_the_record_says_how_it_was_made(counter, tmp_path):
    go(counter, tmp_path)
    record = stored(tmp_path)
    (made,) = record["runs"]
    assert made["command"] == "damastes reproduce table9"
    assert {"python", "numpy", "scipy", "damastes"} <= made["versions"].keys()
    assert made["cores"] >= 1
    assert all(cell["seconds"] >= 0 and "seed" in cell["inputs"] for cell in record["cells"].values())
    assert record["layout"]["rows"][2] == {"name": "pair/seed 2", "values": ["1.0"], "theirs": False}
    assert str(Path.home()) not in json.dumps(record)
    assert str(tmp_path) not in json.dumps(record)


def test_progress_tells_cells_and_steps(counter, tmp_path):
    seen = []
    go(counter, tmp_path, seeds=2, watch=lambda *what: seen.append(what))
    assert seen == [
        ("pair/seed 0", 0, 2, ""),
        ("pair/seed 0", 0, 2, "steps 1/2"),
        ("pair/seed 1", 1, 2, ""),
        ("pair/seed 1", 1, 2, "steps 1/2"),
    ]


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": {}}', '{"runs": [], "cells": {"a": {"run": 1}}}'])
def test_a_foreign_file_is_not_overwritten(counter, tmp_path, content):
    (tmp_path / "table9.json").write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"table9\.json: expected results .* --fresh"):
        go(counter, tmp_path)
    assert (tmp_path / "table9.json").read_text(encoding="utf-8") == content
    go(counter, tmp_path, fresh=True)
    assert len(stored(tmp_path)["cells"]) == 3


def test_results_that_json_can_not_hold_are_our_mistake(counter, tmp_path):
    counter.work = lambda seed, progress: {"value": float("nan")}
    with pytest.raises(ValueError, match="JSON"):
        go(counter, tmp_path)


def test_two_runs_of_one_experiment_keep_each_others_cells(counter, tmp_path):
    """One run while another one is in its second cell: both write into the same file."""
    other = Counter()
    work = counter.work

    def interrupted(seed, progress):
        if seed == 1:
            setting = Setting(Data(), seeds=5)
            run(other.experiment(), setting, tmp_path, command="damastes reproduce table9 --seeds 5")
        return work(seed, progress)

    counter.work = interrupted
    outcome = go(counter, tmp_path)
    record = stored(tmp_path)
    assert list(record["cells"]) == [f"pair/seed {seed}" for seed in range(5)]
    # What the other one finished in the meantime is not done again.
    assert (counter.ran, other.ran) == ([0, 1], [1, 2, 3, 4])
    commands = {made["id"]: made["command"] for made in record["runs"]}
    assert len(commands) == 2
    assert [commands[cell["run"]].endswith("5") for cell in record["cells"].values()] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [row.name for row in outcome.layout.rows] == [f"pair/seed {seed}" for seed in range(3)]


def test_two_processes_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(tmp_path, name)) for name in ("a", "b")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(stored(tmp_path)["cells"]) == 80


def write_many(out, name):
    counter = Counter()
    counter.cells = lambda setting: [Cell(f"{name}/{k}", {}, lambda progress: {"value": 1.0}) for k in range(40)]
    counter.layout = lambda setting, results: Layout("Table 9", "cell", ["value"], [Row("a", ["1"])], [])
    run(counter.experiment(), Setting(Data()), out, command=name)


def kin(counter, out, name, **options):
    other = {"table8": "table9", "table9": "table8"}[name]
    experiment = Experiment(name, counter.cells, counter.layout, kin=(other,))
    return run(experiment, Setting(Data()), out, command=f"damastes reproduce {name}", **options)


def test_kin_do_not_compute_the_same_cells_twice(counter, tmp_path):
    first = kin(counter, tmp_path, "table9")
    second = kin(counter, tmp_path, "table8")
    assert counter.ran == [0, 1, 2]
    assert (first.n_kept, second.n_kept) == (0, 3)
    assert stored(tmp_path, "table8")["cells"] == stored(tmp_path, "table9")["cells"]
    # Which says where its numbers come from.
    assert [made["command"] for made in stored(tmp_path, "table8")["runs"]] == ["damastes reproduce table9"]


def test_what_kin_computed_from_other_inputs_is_not_taken_over(counter, tmp_path):
    kin(counter, tmp_path, "table9")
    counter.inputs["data"] = "xyz"
    assert kin(counter, tmp_path, "table8").n_kept == 0
    assert counter.ran == [0, 1, 2] * 2
    assert {cell["inputs"]["data"] for cell in stored(tmp_path)["cells"].values()} == {"abc"}


def test_own_and_taken_over_cells_keep_their_runs(counter, tmp_path):
    counter.stop_at = 1
    with pytest.raises(KeyboardInterrupt):
        kin(counter, tmp_path, "table8")
    counter.stop_at = None
    (tmp_path / "aside").mkdir()
    (tmp_path / "table8.json").rename(tmp_path / "aside" / "table8.json")
    kin(counter, tmp_path, "table9")
    (tmp_path / "aside" / "table8.json").rename(tmp_path / "table8.json")
    assert kin(counter, tmp_path, "table8").n_kept == 3
    record = stored(tmp_path, "table8")
    commands = {made["id"]: made["command"] for made in record["runs"]}
    assert [commands[cell["run"]].split()[-1] for cell in record["cells"].values()] == ["table8", "table9", "table9"]


def test_fresh_kin_are_computed_once(counter, tmp_path):
    kin(counter, tmp_path, "table9")
    first = kin(counter, tmp_path, "table9", fresh=True)
    assert kin(counter, tmp_path, "table8", fresh=True, done_before={"table9": first.record}).n_kept == 3
    assert counter.ran == [0, 1, 2] * 2
    assert kin(counter, tmp_path, "table8", fresh=True).n_kept == 0
