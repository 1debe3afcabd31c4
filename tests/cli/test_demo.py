from __future__ import annotations

import json
import os

import pytest

from damastes import load_map, read_lexicon


@pytest.fixture(scope="module")
def demo(tmp_path_factory, call):
    output = tmp_path_factory.mktemp("demo") / "out"
    return call("demo", "-o", output, "--json"), output


def test_prints_json_and_nothing_else(demo):
    done, output = demo
    assert done.returncode == 0
    result = done.json
    assert result["output"] == str(output)
    assert [(e["direction"], e["retrieval"]) for e in result["evaluation"]] == [
        ("forward", "nn"),
        ("forward", "csls"),
        ("backward", "nn"),
        ("backward", "csls"),
    ]
    assert result["evaluation"][1]["precision"]["1"] > 0.8
    assert result["translations"]["parliament"][0][0] == "parlamento"


def test_writes_a_map_a_lexicon_and_a_record(demo):
    output = demo[1]
    assert sorted(os.listdir(output)) == ["lexicon.tsv", "map.safetensors", "run.json"]
    assert load_map(output / "map.safetensors").Q.shape == (100, 100)
    record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    assert len(read_lexicon(output / "lexicon.tsv")) == record["lexicon"]["pairs"] > 1000


def test_the_other_commands_go_on_from_there(demo, call):
    done = call("translate", demo[1], "parliament", "-k", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("parliament  parlamento 0.")
