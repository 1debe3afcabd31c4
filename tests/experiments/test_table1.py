from __future__ import annotations

import sys

import numpy as np
import pytest

from damastes import samples
from damastes.errors import FileFormatError, MissingExtraError
from damastes.experiments import experiment
from damastes.experiments.cells import Setting
from damastes.experiments.corpus import Corpus, Training
from damastes.experiments.data import Data, same_words
from damastes.experiments.running import run
from damastes.experiments.table1 import shuffled

N_WORDS = 600


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """One toy: words of the sample, and the same rotated, with noise."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toy").mkdir()
    rng = np.random.default_rng(0)
    cloud = samples.load("en").head(N_WORDS)
    X = cloud.matrix.astype(np.float64)
    rotation = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    noise = 0.02 * X.std() * rng.standard_normal(X.shape)
    for name, matrix in (("base", X), ("seed", (X + noise) @ rotation)):
        np.savez(folder / "toy" / f"{name}.npz", words=np.array(cloud.labels), vectors=matrix.astype(np.float32))
    return Data.open(folder)


@pytest.fixture(scope="module")
def outcome(toys, tmp_path_factory):
    # The usual split would leave 600 words without a test.
    problem = toys.load("toy-seed")
    toys._last["toy-seed"] = same_words("toy-seed", problem.source, problem.target, split=300)
    return run(experiment("table1"), Setting(toys, quick=True), tmp_path_factory.mktemp("out"), command="table1")


def row(outcome, name, theirs=False):
    return next(row.values for row in outcome.layout.rows if row.name == name and row.theirs == theirs)


def test_an_easy_toy_is_solved_whatever_the_order_of_rows(outcome):
    assert row(outcome, "Procrustes")[0] == "1.000"
    assert row(outcome, "ours (default)")[0] == "1.000 (1/1)"
    assert row(outcome, "Convex init")[0] == "1.000 (1/1)"


def test_the_distance_is_that_of_the_noise(outcome, toys):
    result = outcome.record["cells"]["seed/distance"]["result"]
    assert result["words"] == N_WORDS
    assert 0 < result["a_word"] < 0.1
    assert result["distance"] == pytest.approx(result["a_word"] * N_WORDS**0.5)


def test_successes_are_counted(outcome):
    cells = outcome.record["cells"]
    found = [cells[f"seed/random/seed {seed}"]["result"]["precision"]["forward"]["nn"] for seed in range(2)]
    assert row(outcome, "Random init")[0] == f"{sum(found) / 2:.3f} ({sum(value >= 0.5 for value in found)}/2)"


def test_the_papers_numbers_stand_in_their_columns(outcome):
    assert list(outcome.layout.columns) == ["Seed", "Data", "Window", "Algorithm"]
    assert list(row(outcome, "Relaxation*", theirs=True)) == ["0.99", "0.97", "0.22", "0.00"]
    assert list(row(outcome, "Distance"))[1:] == ["–"] * 3
    text = outcome.layout.to_text()
    assert "600 × 100; 300 words asked, 100 % of those of their ranks" in text
    assert "100 M words of news" in text


def test_ten_seeds_of_what_is_random(toys):
    keys = [cell.key for cell in experiment("table1").cells(Setting(toys))]
    assert [sum(f"seed/{name}/" in key for key in keys) for name in ("relaxation", "random", "convex", "default")] == [
        *(10, 10, 5, 5)
    ]


def test_without_toys_the_sample_takes_their_place():
    keys = [cell.key for cell in experiment("table1").cells(Setting(Data.open(None), quick=True))]
    assert "sample/relaxation*" in keys


def test_shuffled_rows_stay_in_their_heads_and_keep_their_words(toys, rng):
    problem = toys.load("toy-seed")
    for heads in ((), (100, 250)):
        moved = shuffled(problem, rng, heads=heads)
        assert moved.source.ordered == bool(heads)
        for before, after in ((problem.source, moved.source), (problem.target, moved.target)):
            assert all(np.array_equal(after.matrix[after.row(w)], before.matrix[before.row(w)]) for w in before.labels)
            for head in heads:
                assert set(after.labels[:head]) == set(before.labels[:head])
        # No row is its own partner but by chance.
        same = sum(a == b for a, b in zip(moved.source.labels, moved.target.labels, strict=True))
        assert same < 15


@pytest.fixture
def text(tmp_path, rng):
    """Sentences of ten topics, whose words therefore have neighbours."""
    path = tmp_path / "corpus.txt"
    topics = rng.integers(10, size=8000)
    lines = (" ".join(f"w{topic}{word:02d}" for word in rng.integers(12, size=10)) for topic in topics)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_corpus_needs_its_extra_before_the_work(text, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'damastes\[train\]'"):
        experiment("table1").needs(Setting(Data.open(None), corpus=text))
    experiment("table1").needs(Setting(Data.open(None)))


def test_trainings_differ_in_what_the_paper_says(text, tmp_path):
    corpus = Corpus(text, cache=tmp_path)

    def training(name):
        return Training(**corpus.inputs(name)["training"][0])

    base = training("base")
    assert training("seed").seed != base.seed
    assert (training("data").half, base.half) == (1, 0)
    assert (training("window2").window, training("window10").window) == (2, 10)
    assert (training("cbow").algorithm, base.algorithm) == ("cbow", "skipgram")


@pytest.mark.filterwarnings("default")
def test_vectors_are_trained_once_and_repeatably(text, tmp_path):
    pytest.importorskip("gensim")
    told = []
    corpus = Corpus(text, cache=tmp_path / "one")
    first = corpus.vectors("base", lambda *what: told.append(what[0]))
    assert told == ["training base"] * 5
    corpus.vectors("base", lambda *what: told.append(what[0]))
    assert len(told) == 5
    again = Corpus(text, cache=tmp_path / "two").vectors("base")
    assert np.array_equal(first.matrix, again.matrix)
    assert len(first) == 120
    assert not np.array_equal(first.matrix, corpus.vectors("seed").matrix)
    # Words of one topic are near each other.
    units = first.matrix / np.linalg.norm(first.matrix, axis=1, keepdims=True)
    cosines = units @ units.T - 2 * np.eye(120)
    assert np.mean([first.labels[i][1] == first.labels[j][1] for i, j in enumerate(cosines.argmax(axis=1))]) > 0.9


@pytest.mark.filterwarnings("default")
def test_the_second_half_is_other_text(tmp_path):
    pytest.importorskip("gensim")
    path = tmp_path / "halves.txt"
    lines = [" ".join(f"{half}{k % 25}" for k in range(start, start + 10)) for half in "ab" for start in range(300)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = Corpus(path, quick=True, cache=tmp_path)
    assert {word[0] for word in corpus.vectors("base").labels} == {"a"}
    assert {word[0] for word in corpus.vectors("data").labels} == {"b"}


@pytest.mark.filterwarnings("default")
def test_a_text_of_few_words_is_refused(tmp_path):
    pytest.importorskip("gensim")
    path = tmp_path / "short.txt"
    path.write_text("a few words\n" * 50, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"short\.txt: expected a text with at least 20 .* got 3"):
        Corpus(path, cache=tmp_path).vectors("base")
