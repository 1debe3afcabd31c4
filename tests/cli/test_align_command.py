from __future__ import annotations

import json

import numpy as np
import pytest

from damastes import load_map, read_vectors, samples
from damastes.verdict import Verdict


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    """English vectors and the same rotated, under Spanish words, as word2vec text: so few that an alignment takes no time."""
    folder = tmp_path_factory.mktemp("clouds")
    matrix = samples.load("en").head(150).matrix
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((100, 100)))[0]
    for language, points in (("en", matrix), ("es", matrix @ rotation)):
        words = samples.load(language).head(150).labels
        labels = [word.upper() if row % 10 == 9 else word for row, word in enumerate(words)]
        rows = [f"{w} {' '.join(f'{x:.5f}' for x in v)}" for w, v in zip(labels, points, strict=True)]
        (folder / f"{language}.vec").write_text("\n".join(["150 100", *rows]), encoding="utf-8")
    (folder / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in samples.lexicon()), encoding="utf-8")
    return folder


@pytest.fixture
def align(call, clouds, tmp_path):
    def align(*options):
        return call("align", clouds / "en.vec", clouds / "es.vec", "-o", tmp_path / "run", *options)

    return align


class TestRecord:
    def test_it_says_what_went_in_and_what_came_out(self, folder):
        record = json.loads((folder / "align.json").read_text(encoding="utf-8"))
        assert record == json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
        assert record["command"][:2] == ["damastes", "align"]
        source = record["inputs"]["source"]
        assert source["path"] == source["given"] == str(folder / "en.npz")
        assert source["size"] == (folder / "en.npz").stat().st_size
        assert len(source["sha256"]) == 64
        assert set(record["inputs"]) == {"source", "target", "lexicon"}
        assert (record["inputs"]["target"]["n"], record["inputs"]["target"]["dimension"]) == (800, 100)
        assert record["options"] == {
            "limit": 200_000,
            "lower": False,
            "skip_bad_lines": False,
            "recipe": "default",
            "initializer": None,
            "pairs": None,
            "via": None,
            "lexicon": str(folder / "lexicon.txt"),
            "seed": 0,
        }
        assert record["made"]["random_state"] == 0
        assert set(record["versions"]) >= {"damastes", "python", "numpy", "scipy"}
        assert set(record["seconds"]) >= {"reading", "start", "solver", "refinement", "lexicon"}
        assert len(record["history"]["solver"]) > 10
        assert record["evaluation"][0]["n_queries"] > 100
        assert "verdict" in record

    def test_the_run_can_be_repeated_from_it(self, align, call, tmp_path):
        assert align("--seed", 3).returncode == 0
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        before = [(tmp_path / "run" / name).read_bytes() for name in ("map.safetensors", "lexicon.tsv")]
        assert call(*record["command"][1:]).returncode == 0
        assert [(tmp_path / "run" / name).read_bytes() for name in ("map.safetensors", "lexicon.tsv")] == before

    def test_the_lexicon_has_the_surest_pairs_first(self, folder):
        rows = [line.split("\t") for line in (folder / "run" / "lexicon.tsv").read_text(encoding="utf-8").splitlines()]
        scores = [float(score) for _, _, score in rows]
        assert len(scores) > 100
        assert scores == sorted(scores, reverse=True)

    def test_a_run_that_fails_leaves_no_old_record_with_a_new_map(self, align, tmp_path, monkeypatch):
        assert align().returncode == 0
        (tmp_path / "run" / "lexicon.tsv").unlink()
        (tmp_path / "run" / "lexicon.tsv").mkdir()  # so that writing the second file fails
        done = align("--seed", 1)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == f"damastes: {tmp_path / 'run' / 'lexicon.tsv'}: Is a directory"
        assert not (tmp_path / "run" / "run.json").exists()


class TestOptions:
    def test_a_limit_a_seed_and_known_pairs(self, align, clouds, tmp_path):
        done = align("--limit", 100, "--pairs", clouds / "pairs.txt", "--seed", 5)
        assert done.returncode == 0, done.stderr
        assert "note: known pairs: " in done.stderr
        assert "Aligned 100 with 100 vectors" in done.stdout
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        heads = [set(read_vectors(clouds / f"{name}.vec", limit=100).labels) for name in ("en", "es")]
        assert record["made"]["n_pairs"] == sum(a in heads[0] and b in heads[1] for a, b in samples.lexicon()) > 0
        assert record["options"]["seed"] == 5
        assert record["inputs"]["pairs"]["given"] == str(clouds / "pairs.txt")

    def test_identical_words(self, align):
        done = align("--pairs", "identical", "--json")
        assert done.returncode == 0
        shared = set(samples.load("en").head(150).labels) & set(samples.load("es").head(150).labels)
        assert 0 < done.json["made"]["n_pairs"] <= len(shared)
        assert "identical words" in done.stderr
        assert set(done.json["inputs"]) == {"source", "target"}

    def test_a_start_by_name(self, align):
        done = align("--initializer", "random", "--json")
        assert "initializer=Random(" in done.json["made"]["recipe"]
        assert done.json["options"]["initializer"] == "random"

    def test_anchors_start_from_known_pairs(self, align, clouds):
        done = align("--initializer", "anchors", "--pairs", clouds / "pairs.txt", "--json")
        assert "initializer=Anchors(" in done.json["made"]["recipe"]
        align("--initializer", "anchors").assert_one_line_error("give them with --pairs FILE")

    def test_lower_case(self, align, call, tmp_path, clouds):
        done = align("--lower", "--json")
        assert f"note: {clouds / 'en.vec'}: lower case changed 1" in done.stderr
        assert not any(
            word.isupper() for word in (tmp_path / "run" / "lexicon.tsv").read_text(encoding="utf-8").split()
        )
        # The other commands fold words in the same way, those they are given included.
        folded = samples.load("en").labels[19]
        done = call("translate", tmp_path / "run", "THE", folded, folded.upper(), "-k", 1, "--json")
        assert [entry["known"] for entry in done.json] == [True, True, True]

    def test_lower_case_where_words_collide(self, call, tmp_path):
        rng = np.random.default_rng(0)
        words = ["Paris", "paris", "PARIS", *(f"word{i}" for i in range(60))]
        for name in ("a", "b"):
            rows = [f"{word} {' '.join(map(str, rng.standard_normal(5)))}" for word in words]
            (tmp_path / f"{name}.vec").write_text("\n".join([f"{len(words)} 5", *rows]), encoding="utf-8")
        done = call("align", tmp_path / "a.vec", tmp_path / "b.vec", "-o", tmp_path / "run", "--lower", "--json")
        assert done.json["inputs"]["source"]["n"] == 61
        assert "lower case changed 1 words; 2 were left out" in done.stderr

    def test_vectors_of_zeros_are_left_out(self, call, clouds, tmp_path):
        text = (clouds / "en.vec").read_text(encoding="utf-8").replace("150 100", "151 100", 1)
        (tmp_path / "en.vec").write_text(f"{text}\nnothing {'0 ' * 99}0\n", encoding="utf-8")
        done = call("align", tmp_path / "en.vec", clouds / "es.vec", "-o", tmp_path / "run", "--json")
        assert "left out 1 vectors that are all zeros" in done.stderr
        assert done.json["inputs"]["source"]["n"] == 150

    def test_the_evaluation_comes_after_the_fit(self, align, clouds, tmp_path):
        """The map is the same to the bit with and without the lexicon."""
        align()
        before = load_map(tmp_path / "run" / "map.safetensors").Q
        done = align("--lexicon", clouds / "pairs.txt")
        assert "P@1" in done.stdout
        assert np.array_equal(before, load_map(tmp_path / "run" / "map.safetensors").Q)


class TestVerdict:
    @pytest.mark.parametrize(
        ("label", "status", "first", "advice"),
        [
            ("uncertain", 0, "Aligned 150 with", "damastes translate"),
            ("failed", 3, "Could not align 150", "--via FILE"),
        ],
    )
    def test_it_is_shown_recorded_and_the_status(self, align, tmp_path, monkeypatch, label, status, first, advice):
        verdict = Verdict(label, 0.5, {"n_points": 3, "dimension": 2})
        monkeypatch.setattr("damastes.alignment.judge", lambda *_, **__: verdict)
        done = align()
        assert done.returncode == status
        assert done.stdout.startswith(first)
        assert f"Verdict: {verdict}\n" in done.stdout
        assert advice in done.stdout.splitlines()[-1]
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        assert record["verdict"] == verdict.to_json()


class TestBadInput:
    @pytest.mark.parametrize("option", ["--pairs", "--lexicon"])
    def test_pairs_of_other_words_are_said_before_the_fit(self, align, tmp_path, option):
        (tmp_path / "pairs.txt").write_text("xyzzy plugh\n")
        align(option, tmp_path / "pairs.txt").assert_one_line_error("none of its 1 pairs")
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--recipe", "best"), "'--recipe'"),
            (("--initializer", "best"), "convex, independent"),
            (("--initializer", "start"), "convex, independent"),
            (("--limit", "0"), "'--limit'"),
            (("--seed", "x"), "'--seed'"),
            (("--pairs", "nowhere.txt"), "nowhere.txt: there is no such file"),
            (("--lexicon", "nowhere.txt"), "nowhere.txt: there is no such file"),
        ],
    )
    def test_options(self, align, tmp_path, options, words):
        align(*options).assert_one_line_error(words)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("place", ["run", "run/inside", "run/far/inside"])
    def test_the_output_is_a_file(self, call, clouds, tmp_path, place):
        (tmp_path / "run").write_text("mine")
        done = call("align", clouds / "en.vec", clouds / "es.vec", "-o", tmp_path / place)
        done.assert_one_line_error(tmp_path / place, "is a file")
        assert (tmp_path / "run").read_text() == "mine"

    def test_a_missing_file(self, call, folder, tmp_path):
        done = call("align", tmp_path / "nowhere.vec", folder / "es.npz", "-o", tmp_path / "o")
        done.assert_one_line_error(tmp_path / "nowhere.vec", "there is no such file")
        assert not (tmp_path / "o").exists()

    def test_a_bad_file(self, call, folder, tmp_path):
        (tmp_path / "bad.vec").write_text("2 2\na 1 2\nb 1 nan\n")
        done = call("align", folder / "en.npz", tmp_path / "bad.vec", "-o", tmp_path / "o")
        done.assert_one_line_error("bad.vec, line 3", "'nan'")
