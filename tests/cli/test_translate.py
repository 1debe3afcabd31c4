from __future__ import annotations

from pathlib import Path

import pytest

from damastes import samples


def test_several_words(call, folder):
    done = call("translate", folder / "run", "europe", "the", "-k", 2)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [(row[0], len(row)) for row in rows] == [("europe", 5), ("the", 5)]


def test_json_and_standard_input(call, folder):
    done = call("translate", folder / "run", "--json", "-k", 3, stdin="europe\n\n the \n")
    assert [entry["word"] for entry in done.json] == ["europe", "the"]
    assert all(entry["known"] and len(entry["translations"]) == 3 for entry in done.json)
    scores = [found["score"] for found in done.json[0]["translations"]]
    assert scores == sorted(scores, reverse=True)


def test_it_agrees_with_the_lexicon(call, folder):
    """Pairs of the induced lexicon chose each other, so each is the other's first translation."""
    rows = [line.split("\t") for line in (folder / "run" / "lexicon.tsv").read_text(encoding="utf-8").splitlines()[:20]]
    forward = call("translate", folder / "run", *(row[0] for row in rows), "-k", 1, "--json").json
    backward = call("translate", folder / "run", *(row[1] for row in rows), "-k", 1, "--json", "--backward").json
    assert [entry["translations"][0]["word"] for entry in forward] == [row[1] for row in rows]
    assert [entry["translations"][0]["word"] for entry in backward] == [row[0] for row in rows]
    assert [f"{entry['translations'][0]['score']:.4f}" for entry in forward] == [row[2] for row in rows]


@pytest.mark.parametrize("retrieval", ["nn", "isf"])
def test_other_criteria(call, folder, retrieval):
    done = call("translate", folder / "run", "the", "--retrieval", retrieval, "--json")
    assert 0 < done.json[0]["translations"][0]["score"] <= 1


class TestUnknown:
    def test_a_near_spelling_is_suggested_and_the_others_are_translated(self, call, folder):
        done = call("translate", folder / "run", "comission", "the", "-k", 1)
        assert done.returncode == 0
        assert done.stdout.startswith("the  ")
        assert "'comission' is not among the 800 words of en.npz. Near spellings: commission" in done.stderr

    def test_casing(self, call, folder):
        assert "Near spellings: europe" in call("translate", folder / "run", "EUROPE").stderr

    def test_nothing_known_is_status_2(self, call, folder):
        done = call("translate", folder / "run", "xqzwv")
        assert done.stderr == "damastes: 'xqzwv' is not among the 800 words of en.npz\n"
        assert (done.returncode, done.stdout) == (2, "")
        done = call("translate", folder / "run", "xqzwv", "comission", "--json")
        assert done.returncode == 2
        assert [entry["known"] for entry in done.json] == [False, False]
        assert "commission" in done.json[1]["suggestions"]

    def test_no_words(self, call, folder):
        call("translate", folder / "run", stdin="\n").assert_one_line_error("no words to translate")


def test_a_fasttext_model_also_knows_words_that_it_has_not_seen(call, tmp_path):
    model = Path(__file__).parents[1] / "io" / "data" / "pieces.bin"
    assert call("align", model, model, "-o", tmp_path / "run").returncode == 0
    for direction in ((), ("--backward",)):
        done = call("translate", tmp_path / "run", "parliaments", "bern", "-k", 2, *direction)
        assert done.returncode == 0
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["parliaments", "bern"]
        assert "note: made from their pieces, as pieces.bin has not seen them: parliaments\n" in done.stderr


def test_words_are_the_sample(folder):
    assert {"the", "europe", "commission"} <= set(samples.load("en").head(800).labels)
