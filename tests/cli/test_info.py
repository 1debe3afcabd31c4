from __future__ import annotations

import gzip

import pytest

from damastes import samples
from damastes.io import write_vectors


@pytest.mark.parametrize("name", ["en.vec", "en.vec.gz", "en.npz", "en.safetensors"])
def test_vectors(call, tmp_path, name):
    write_vectors(samples.load("en").head(300), tmp_path / name)
    values = call("info", tmp_path / name, "--json").json
    assert (values["kind"], values["n"], values["dimension"]) == ("vectors", 300, 100)
    assert values["first_words"] == samples.load("en").labels[:8]
    assert values["memory_bytes"] == 4 * 300 * 100
    assert values["bytes"] == (tmp_path / name).stat().st_size
    assert 0 < values["norms"]["smallest"] < values["norms"]["median"] < values["norms"]["largest"]
    assert bool(values["compression"]) == name.endswith(".gz")
    text = call("info", tmp_path / name).stdout
    assert "first words  the , . of" in text
    assert "in memory    120.0 kB" in text


def test_a_file_that_does_not_say_how_many(call, tmp_path):
    write_vectors(samples.load("en").head(300), tmp_path / "en.vec")
    rows = (tmp_path / "en.vec").read_bytes().splitlines(keepends=True)[1:]
    with gzip.open(tmp_path / "glove.txt.gz", "wb") as file:
        file.writelines(rows)
    assert call("info", tmp_path / "glove.txt.gz", "--json").json["n"] == 300


def test_a_map(call, folder):
    values = call("info", folder / "run" / "map.safetensors", "--json").json
    assert (values["kind"], values["dimensions"]) == ("map", [100, 100])
    assert values["source"] == {"name": "en.npz", "n": 800, "dimension": 100}
    assert "source       en.npz, 800 × 100" in call("info", folder / "run" / "map.safetensors").stdout


def test_a_run(call, folder):
    values = call("info", folder / "run", "--json").json
    assert values["kind"] == "run"
    assert values["inputs_found"]
    assert values["lexicon_pairs"] > 100
    assert f"source        {folder / 'en.npz'}, 800 × 100" in call("info", folder / "run").stdout


def test_nothing_that_it_knows(call, folder, tmp_path):
    call("info", tmp_path / "nowhere").assert_one_line_error("nowhere")
    call("info", tmp_path).assert_one_line_error(tmp_path, "run.json")
    call("info", folder / "lexicon.txt").assert_one_line_error("lexicon.txt")
