from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from damastes import load_map, read_lexicon, samples

COMMAND = Path(sys.executable).with_name("damastes")
KEYS = {"retrieval", "direction", "n_queries", "coverage", "precision", "ci95"}


def run(*arguments, **options):
    """Call the installed command as a person does; its output is UTF-8 whatever the terminal."""
    environment = {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "120"}
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=120, **options
    )


def write_npz(path, vectors):
    np.savez(path, words=np.array(vectors.labels), vectors=vectors.matrix)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two vector files, a lexicon, and the directory `run` that `damastes align` wrote for them."""
    folder = tmp_path_factory.mktemp("cli")
    for language in ("en", "es"):
        write_npz(folder / f"{language}.npz", samples.load(language).head(800))
    (folder / "lexicon.txt").write_text("".join(f"{a}\t{b}\n" for a, b in samples.lexicon()), encoding="utf-8")
    done = run("align", folder / "en.npz", folder / "es.npz", "-o", folder / "run", "--json")
    assert done.returncode == 0, done.stderr
    (folder / "align.json").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    output = tmp_path_factory.mktemp("demo") / "out"
    return run("demo", "-o", output, "--json"), output


def assert_one_line_error(done, *words, status=2):
    assert done.returncode == status
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("damastes: ")
    for word in words:
        assert str(word) in done.stderr


class TestDemo:
    def test_prints_json_and_nothing_else(self, demo):
        done, output = demo
        assert done.returncode == 0
        result = json.loads(done.stdout)
        assert result["output"] == str(output)
        assert [(e["direction"], e["retrieval"]) for e in result["evaluation"]] == [
            ("forward", "nn"),
            ("forward", "csls"),
            ("backward", "nn"),
            ("backward", "csls"),
        ]
        assert all(set(e) == KEYS for e in result["evaluation"])
        assert result["evaluation"][1]["precision"]["1"] > 0.8
        assert result["translations"]["parliament"][0][0] == "parlamento"

    def test_writes_a_map_a_lexicon_and_a_record(self, demo):
        output = demo[1]
        assert sorted(os.listdir(output)) == ["lexicon.tsv", "map.safetensors", "run.json"]
        assert load_map(output / "map.safetensors").Q.shape == (100, 100)
        record = json.loads((output / "run.json").read_text(encoding="utf-8"))
        assert len(read_lexicon(output / "lexicon.tsv")) == record["lexicon"]["pairs"] > 1000


class TestAlign:
    def test_the_record_says_what_went_in_and_what_came_out(self, folder):
        record = json.loads((folder / "align.json").read_text(encoding="utf-8"))
        assert record == json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
        assert record["inputs"]["source"]["path"] == str(folder / "en.npz")
        assert (record["inputs"]["target"]["n"], record["inputs"]["target"]["dimension"]) == (800, 100)
        assert record["options"] == {"limit": 200_000, "recipe": "default", "pairs": None, "seed": 0}
        assert record["made"]["random_state"] == 0
        with safe_open(folder / "run" / "map.safetensors", framework="numpy") as file:
            assert "Q" in file.keys()  # noqa: SIM118 (not a dict)

    def test_known_pairs_text_files_and_a_limit(self, folder, tmp_path):
        for language in ("en", "es"):
            vectors = samples.load(language).head(300)
            rows = [
                f"{w} {' '.join(f'{x:.5f}' for x in v)}" for w, v in zip(vectors.labels, vectors.matrix, strict=True)
            ]
            (tmp_path / f"{language}.vec").write_text("\n".join(["300 100", *rows]), encoding="utf-8")
        done = run(
            *("align", tmp_path / "en.vec", tmp_path / "es.vec", "-o", tmp_path / "run"),
            *("--limit", 200, "--pairs", folder / "lexicon.txt", "--seed", 5),
        )
        assert done.returncode == 0, done.stderr
        assert "known pairs: " in done.stderr
        assert "aligned 200 with 200 vectors" in done.stdout
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        assert record["made"]["n_pairs"] > 20
        assert record["options"]["seed"] == 5

    def test_pairs_of_other_words_are_an_error(self, folder, tmp_path):
        (tmp_path / "pairs.txt").write_text("xyzzy plugh\n")
        done = run(
            "align", folder / "en.npz", folder / "es.npz", "-o", tmp_path / "o", "--pairs", tmp_path / "pairs.txt"
        )
        assert_one_line_error(done, "none of its 1 pairs")
        assert not (tmp_path / "o").exists()


class TestEvaluate:
    def test_json_has_the_promised_keys(self, folder):
        done = run("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--json")
        assert done.returncode == 0
        assert done.stderr == ""
        result = json.loads(done.stdout)
        assert set(result) == KEYS
        assert (result["retrieval"], result["direction"]) == ("csls", "forward")
        assert set(result["precision"]) == set(result["ci95"]) == {"1", "5", "10"}
        shares = [result["precision"][k] for k in ("1", "5", "10")]
        assert 0 <= shares[0] <= shares[1] <= shares[2] <= 1
        assert all(low <= share <= high for share, (low, high) in zip(shares, result["ci95"].values(), strict=True))
        assert 0 < result["coverage"] < 1
        assert result["n_queries"] > 100

    def test_every_retrieval_in_both_directions(self, folder):
        arguments = ("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--retrieval", "all")
        results = json.loads(run(*arguments, "--direction", "both", "--json").stdout)
        assert [(r["direction"], r["retrieval"]) for r in results] == [
            (direction, name) for direction in ("forward", "backward") for name in ("nn", "csls", "isf")
        ]
        table = run(*arguments).stdout
        assert [line.split()[1] for line in table.splitlines()[1:]] == ["nn", "csls", "isf"]

    def test_a_changed_input_is_noted(self, folder, tmp_path):
        source = write_npz(tmp_path / "en.npz", samples.load("en").head(800).select(np.arange(800)[::-1]))
        record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
        record["inputs"]["source"]["path"] = str(source)
        (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
        (tmp_path / "map.safetensors").write_bytes((folder / "run" / "map.safetensors").read_bytes())
        done = run("evaluate", tmp_path, "--lexicon", folder / "lexicon.txt", "--json")
        assert done.returncode == 0
        assert done.stderr == f"note: {source} has changed since it was aligned\n"
        assert set(json.loads(done.stdout)) == KEYS

    @pytest.mark.parametrize(
        ("options", "words"),
        [(("--retrieval", "best"), "nn, csls, isf or all"), (("--direction", "up"), "forward, backward or both")],
    )
    def test_bad_options(self, folder, options, words):
        assert_one_line_error(run("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", *options), words)


class TestErrors:
    def test_a_missing_file(self, folder, tmp_path):
        done = run("align", tmp_path / "nowhere.vec", folder / "es.npz", "-o", tmp_path / "o")
        assert_one_line_error(done, tmp_path / "nowhere.vec", "there is no such file")
        assert not (tmp_path / "o").exists()

    def test_a_bad_file(self, folder, tmp_path):
        (tmp_path / "bad.vec").write_text("2 2\na 1 2\nb 1 nan\n")
        done = run("align", folder / "en.npz", tmp_path / "bad.vec", "-o", tmp_path / "o")
        assert_one_line_error(done, "bad.vec, line 3", "'nan'")

    @pytest.mark.parametrize(
        "record", [None, "", "{}", '{"inputs": {"source": {}, "target": {}}, "options": {"limit": 1}}']
    )
    def test_a_directory_that_is_no_run(self, folder, tmp_path, record):
        if record is not None:
            (tmp_path / "run.json").write_text(record)
        done = run("evaluate", tmp_path, "--lexicon", folder / "lexicon.txt")
        assert_one_line_error(done, tmp_path, "damastes align")

    def test_debug_shows_the_traceback(self, folder, tmp_path):
        done = run("--debug", "align", tmp_path / "nowhere.vec", folder / "es.npz", "-o", tmp_path / "o")
        assert done.returncode != 0
        assert "Traceback" in done.stderr
        assert "FileFormatError" in done.stderr

    def test_a_wrong_call_has_status_2(self):
        assert run("align").returncode == 2
        assert run("no-such-command").returncode == 2


class TestHelp:
    def test_it_comes_without_the_numerics(self):
        code = (
            "import sys, damastes.cli\n"
            "sys.argv = ['damastes', '--help']\n"
            "try: damastes.cli.main()\n"
            "except SystemExit as done: assert not done.code\n"
            "print('loaded:', [name for name in ('numpy', 'scipy', 'torch') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert "loaded: []" in done.stdout
        assert all(command in done.stdout for command in ("demo", "align", "evaluate"))

    def test_version(self):
        done = run("--version")
        assert done.returncode == 0
        assert done.stdout.startswith("damastes ")
