from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from damastes import samples

KEYS = {"retrieval", "direction", "n_queries", "coverage", "precision", "ci95", "bands"}


class TestLexicon:
    def test_json_has_the_promised_keys(self, call, folder):
        done = call("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--json")
        assert done.returncode == 0
        assert done.stderr == ""
        result = done.json
        assert set(result) == KEYS
        assert (result["retrieval"], result["direction"]) == ("csls", "forward")
        assert set(result["precision"]) == set(result["ci95"]) == {"1", "5", "10"}
        shares = [result["precision"][k] for k in ("1", "5", "10")]
        assert 0 <= shares[0] <= shares[1] <= shares[2] <= 1
        assert all(low <= share <= high for share, (low, high) in zip(shares, result["ci95"].values(), strict=True))
        assert 0 < result["coverage"] < 1
        assert result["n_queries"] > 100
        assert sum(band["n_queries"] for band in result["bands"]) == result["n_queries"]

    def test_it_is_what_align_measured(self, call, folder):
        done = call("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--json")
        record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
        assert done.json == record["evaluation"][0]

    def test_every_retrieval_in_both_directions(self, call, folder):
        arguments = ("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--retrieval", "all")
        results = call(*arguments, "--direction", "both", "--json").json
        assert [(r["direction"], r["retrieval"]) for r in results] == [
            (direction, name) for direction in ("forward", "backward") for name in ("nn", "csls", "isf")
        ]

    def test_the_tables(self, call, folder):
        done = call("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt", "--retrieval", "all")
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("forward")]
        assert [row[1] for row in rows] == ["nn", "csls", "isf"] * 2
        assert "P@1 by frequency rank" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 110

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--lexicon", "{}", "--retrieval", "best"), "'nn', 'csls', 'isf', 'all'"),
            (("--lexicon", "{}", "--direction", "up"), "'forward', 'backward', 'both'"),
            (("--lexicon", "nowhere"), "nowhere: there is no such file"),
            (("--sentences", "nowhere", "nowhere"), "nowhere: there is no such file"),
            (("--sentences", "nowhere"), "requires 2 arguments"),
            (("--similarity", "nowhere"), "nowhere: there is no such file"),
            ((), "give --lexicon, --similarity or --sentences"),
        ],
    )
    def test_bad_options(self, call, folder, options, words):
        options = [str(option).format(folder / "lexicon.txt") for option in options]
        call("evaluate", folder / "run", *options).assert_one_line_error(words)


class TestOtherMeasures:
    @pytest.fixture
    def texts(self, folder, tmp_path):
        """A similarity list, and two word-by-word translations of sentences that the lexicon covers."""
        en, es = samples.load("en").head(800), samples.load("es").head(800)
        pairs = [(a, b) for a, b in dict(samples.lexicon()).items() if a in en and b in es]
        rng = np.random.default_rng(0)
        chosen = [[pairs[i] for i in rng.choice(len(pairs), 8, replace=False)] for _ in range(40)]
        for side, name in enumerate(("en", "es")):
            lines = [" ".join(pair[side] for pair in line).capitalize() + "." for line in chosen]
            (tmp_path / f"{name}.txt").write_text("\n".join([*lines, "Xyzzy!"]), encoding="utf-8")
        (tmp_path / "similar.txt").write_text(
            "".join(f"{a}\t{b}\t9.5\n" for a, b in pairs[:50])
            + "".join(f"{a}\t{pairs[-i][1]}\t1.5\n" for i, (a, _) in enumerate(pairs[:50], 1))
            + "xyzzy\tplugh\t5\n",
            encoding="utf-8",
        )
        return tmp_path

    def test_similarity(self, call, folder, texts):
        result = call("evaluate", folder / "run", "--similarity", texts / "similar.txt", "--json").json
        assert set(result) == {"similarity"}
        assert result["similarity"]["sides"] == ["source", "target"]
        assert result["similarity"]["n_pairs"] == 100
        assert result["similarity"]["coverage"] == pytest.approx(100 / 101)
        assert result["similarity"]["spearman"] > 0.4

    def test_sentences(self, call, folder, texts):
        done = call("evaluate", folder / "run", "--sentences", texts / "en.txt", texts / "es.txt", "--json")
        result = done.json["sentences"][0]
        assert (result["n_sentences"], result["n_asked"], result["unknown_source"]) == (41, 40, 1)
        assert result["forward"] > 0.8
        assert result["backward"] > 0.8

    def test_all_at_once(self, call, folder, texts):
        arguments = (
            *("evaluate", folder / "run", "--lexicon", folder / "lexicon.txt"),
            *("--similarity", texts / "similar.txt", "--sentences", texts / "en.txt", texts / "es.txt"),
        )
        assert set(call(*arguments, "--json").json) == {"lexicon", "similarity", "sentences"}
        text = call(*arguments).stdout
        assert "Word similarity (source–target): Spearman 0." in text
        assert "40 of 41 pairs; without a known word: 1 source, 1 target sentences" in text


class TestInputs:
    """The directory names its inputs; what became of them is said."""

    @pytest.fixture
    def moved(self, folder, tmp_path):
        """A copy of the run whose inputs can be changed."""
        shutil.copytree(folder / "run", tmp_path / "run")
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        for side, language in (("source", "en"), ("target", "es")):
            shutil.copy(folder / f"{language}.npz", tmp_path / f"{language}.npz")
            record["inputs"][side]["path"] = str(tmp_path / f"{language}.npz")
        (tmp_path / "run" / "run.json").write_text(json.dumps(record), encoding="utf-8")
        return tmp_path

    def evaluate(self, call, folder, directory):
        return call("evaluate", directory, "--lexicon", folder / "lexicon.txt", "--json")

    def test_a_copy_is_the_same(self, call, folder, moved):
        done = self.evaluate(call, folder, moved / "run")
        assert (done.returncode, done.stderr) == (0, "")

    def test_a_changed_input_is_noted(self, call, folder, moved):
        vectors = samples.load("en").head(800).select(np.arange(800)[::-1])
        np.savez(moved / "en.npz", words=np.array(vectors.labels), vectors=vectors.matrix)
        done = self.evaluate(call, folder, moved / "run")
        assert done.returncode == 0
        assert done.stderr == f"note: {moved / 'en.npz'} has changed since it was aligned\n"
        assert set(done.json) == KEYS

    def test_an_input_of_another_dimension(self, call, folder, moved):
        np.savez(moved / "en.npz", words=np.array(["a", "b"]), vectors=np.eye(2, 7))
        done = self.evaluate(call, folder, moved / "run")
        assert done.returncode == 2
        assert "the map takes 100 coordinates, en.npz has 7 now" in done.stderr

    def test_an_input_that_is_gone(self, call, folder, moved, monkeypatch):
        record = json.loads((moved / "run" / "run.json").read_text(encoding="utf-8"))
        record["inputs"]["source"].update(path=str(moved / "gone" / "en.npz"), given="en.npz")
        (moved / "run" / "run.json").write_text(json.dumps(record), encoding="utf-8")
        done = self.evaluate(call, folder, moved / "run")
        done.assert_one_line_error("source vectors", moved / "gone" / "en.npz", "align again")
        # Where the path of the command leads to the file again, it is found.
        monkeypatch.chdir(moved)
        assert self.evaluate(call, folder, moved / "run").returncode == 0

    @pytest.mark.parametrize(
        "record", [None, "", "{}", "[]", '{"inputs": {"source": {}, "target": {}}, "options": {"limit": 1}}']
    )
    def test_a_directory_that_is_no_run(self, call, folder, tmp_path, record):
        if record is not None:
            (tmp_path / "run.json").write_text(record)
        self.evaluate(call, folder, tmp_path).assert_one_line_error(tmp_path, "damastes align")
