from __future__ import annotations

import json

import pytest

from damastes import read_lexicon


@pytest.fixture
def pairs(folder):
    return (folder / "run" / "lexicon.tsv").read_text(encoding="utf-8")


def test_it_is_what_align_wrote(call, folder, pairs, tmp_path):
    done = call("lexicon", folder / "run", "-o", tmp_path / "new" / "pairs.tsv")
    assert done.returncode == 0
    assert (tmp_path / "new" / "pairs.tsv").read_text(encoding="utf-8") == pairs
    n = len(pairs.splitlines())
    assert done.stdout == f"{tmp_path / 'new' / 'pairs.tsv'}: {n:,} of {n:,} pairs\n"
    assert call("lexicon", folder / "run").stdout == pairs
    assert len(read_lexicon(tmp_path / "new" / "pairs.tsv")) == n


def test_the_best_ones(call, folder, pairs):
    rows = pairs.splitlines()
    assert call("lexicon", folder / "run", "--top", 3).stdout.splitlines() == rows[:3]
    score = float(rows[10].split("\t")[2])
    found = call("lexicon", folder / "run", "--min-score", score).stdout.splitlines()
    assert found == [row for row in rows if float(row.split("\t")[2]) >= score]
    assert call("lexicon", folder / "run", "--min-score", score, "--top", 2).stdout.splitlines() == rows[:2]


@pytest.mark.parametrize("options", [("-o", "out.jsonl"), ("-o", "out", "--format", "jsonl"), ("--json",)])
def test_json_lines(call, folder, pairs, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    done = call("lexicon", folder / "run", "--top", 4, *options)
    text = (tmp_path / options[1]).read_text(encoding="utf-8") if options[0] == "-o" else done.stdout
    entries = [json.loads(line) for line in text.splitlines()]
    assert [f"{e['source']}\t{e['target']}\t{e['score']:.4f}" for e in entries] == pairs.splitlines()[:4]


def test_json_about_a_file(call, folder, pairs, tmp_path):
    done = call("lexicon", folder / "run", "--top", 4, "-o", tmp_path / "out.tsv", "--json")
    assert done.json == {
        "file": str(tmp_path / "out.tsv"),
        "format": "tsv",
        "pairs": 4,
        "of": len(pairs.splitlines()),
    }


def test_damaged_or_missing(call, folder, tmp_path):
    (tmp_path / "run.json").write_bytes((folder / "run" / "run.json").read_bytes())
    call("lexicon", tmp_path).assert_one_line_error("lexicon.tsv: there is no such file")
    (tmp_path / "lexicon.tsv").write_text("a\tb\t0.5\na\tb\n")
    call("lexicon", tmp_path).assert_one_line_error("lexicon.tsv, line 2: expected two words and a score")
