from __future__ import annotations

import shutil

import numpy as np
import pytest

from damastes import samples
from damastes.errors import InputError
from damastes.experiments.data import Data


def write_vec(path, words, rng):
    rows = rng.standard_normal((len(words), 4)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
    path.write_text("\n".join([f"{len(words)} 4", *lines]) + "\n", encoding="utf-8")


@pytest.fixture
def papers_folder(tmp_path, rng):
    """What `damastes fetch` brings for en-de, small."""
    write_vec(tmp_path / "wiki.en.vec", ["the", "cat", "dog"], rng)
    write_vec(tmp_path / "wiki.de.vec", ["die", "katze", "hund"], rng)
    for name, line in (
        *(("en-de.0-5000", "cat katze"), ("en-de.5000-6500", "dog hund")),
        *(("de-en.0-5000", "katze cat"), ("de-en.5000-6500", "hund dog")),
    ):
        (tmp_path / f"{name}.txt").write_text(line + "\n", encoding="utf-8")
    return tmp_path


def test_without_a_folder_there_is_the_sample():
    data = Data.open(None)
    assert data.pairs == ("sample",)
    problem = data.load(data.preferred("en-fr"))
    assert (problem.name, len(problem.source), len(problem.target)) == ("sample", 10_000, 10_000)
    # Split by rank, nothing lost, nothing on both sides.
    assert all(problem.source.row(a) < 5000 for a, _ in problem.train)
    assert all(a not in problem.source or problem.source.row(a) >= 5000 for a, _ in problem.forward)
    assert sorted([*problem.train, *problem.forward]) == sorted(samples.lexicon())
    assert len(problem.train) > 3000
    assert len(problem.forward) > 1000


def test_the_papers_own_files(papers_folder):
    data = Data.open(papers_folder)
    assert data.pairs == ("en-de",)
    problem = data.load("en-de")
    assert problem.train == [("cat", "katze")]
    assert problem.forward == problem.backward == [("dog", "hund")]
    assert problem.known_rows().tolist() == [[1, 1]]
    assert problem.files == ("wiki.en.vec", "wiki.de.vec")


def test_the_benchmark_folder(cut_sample):
    data = Data.open(cut_sample)
    assert (data.pairs, data.toys) == (("en-fr",), ("seed",))
    assert data.preferred("en-de", "en-fr") == "en-fr"
    problem = data.load("en-fr")
    assert problem.files == ("vectors/en.spacy.npz", "vectors/fr.spacy.npz")
    toy = data.load("toy-seed")
    assert all(a == b for a, b in toy.train)
    assert len(toy.train) == 50


def test_a_folder_of_toys_alone_leaves_the_sample(cut_sample, tmp_path):
    shutil.copytree(cut_sample / "toy", tmp_path / "toy")
    data = Data.open(tmp_path)
    assert (data.pairs, data.toys) == (("sample",), ("seed",))
    assert data.load("sample").name == "sample"


def test_an_incomplete_pair_is_not_offered(papers_folder):
    (papers_folder / "de-en.0-5000.txt").unlink()
    with pytest.raises(InputError, match=r"got none that is complete.*damastes fetch wiki\.en\.vec wiki\.es\.vec"):
        Data.open(papers_folder)


def test_what_is_not_there(papers_folder, tmp_path):
    with pytest.raises(InputError, match="expected a folder"):
        Data.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no pair 'en-fr' .* expected one of en-de, sample"):
        Data.open(papers_folder).load("en-fr")


def test_vectors_without_direction_are_left_out(papers_folder):
    path = papers_folder / "wiki.en.vec"
    text = path.read_text(encoding="utf-8").replace("3 4\n", "4 4\nzero 0 0 0 0\n")
    path.write_text(text, encoding="utf-8")
    assert Data.open(papers_folder).load("en-de").source.labels == ["the", "cat", "dog"]


def test_hashes_follow_words_vectors_and_lexicons(papers_folder):
    def hashes():
        return Data.open(papers_folder).load("en-de").hashes()

    before = hashes()
    assert hashes() == before
    assert before["source"]["file"] == "wiki.en.vec"
    assert str(papers_folder) not in repr(before)
    path = papers_folder / "wiki.en.vec"
    path.write_text(path.read_text(encoding="utf-8").replace("dog", "dogs"), encoding="utf-8")
    renamed = hashes()
    assert renamed["source"]["sha256"] != before["source"]["sha256"]
    assert renamed["target"] == before["target"]
    write_vec(papers_folder / "wiki.de.vec", ["die", "katze", "hund"], np.random.default_rng(5))
    assert hashes()["target"]["sha256"] != before["target"]["sha256"]
    (papers_folder / "en-de.5000-6500.txt").write_text("the die\n", encoding="utf-8")
    assert hashes()["lexicons"] != before["lexicons"]


def test_only_the_last_pair_stays_in_memory(cut_sample):
    data = Data.open(cut_sample)
    first = data.load("en-fr")
    assert data.load("en-fr") is first
    data.load("toy-seed")
    assert data.load("en-fr") is not first
