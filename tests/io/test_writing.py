"""Writers: what was written comes back bit for bit, other tools can read it, and a file is whole or not there."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import damastes
from damastes import Vectors, read_vectors, write_vectors
from damastes.io import VectorsWriter, describe

NAMES = [
    *("words.vec", "words.txt", "words.vec.gz", "words.vec.bz2", "words.vec.xz", "words.vec.zst"),
    *("words.npz", "words.safetensors", "words.parquet"),
]
WORDS = ["the", "new york", "zürich", "東京", "", "a\u00a0b", "1990", "nan"]


@pytest.fixture
def vectors(rng):
    matrix = (rng.standard_normal((8, 6)) * 10.0 ** rng.integers(-20, 20, (8, 6))).astype(np.float32)
    matrix[0] = [0, 1, -1, np.finfo(np.float32).max, np.finfo(np.float32).tiny, np.float32(1e-45)]
    return Vectors(WORDS, matrix, ordered=True)


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def formatter(request, monkeypatch):
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_everything_comes_back_bit_for_bit(tmp_path, vectors, formatter, name):
    if name.endswith(".parquet") and formatter == "without pyarrow":
        pytest.skip("Parquet is pyarrow's")
    write_vectors(vectors, tmp_path / name)
    found = read_vectors(tmp_path / name)
    assert found.labels == WORDS
    assert found.matrix.tobytes() == vectors.matrix.tobytes()
    assert os.listdir(tmp_path) == [name]
    about = describe(tmp_path / name)
    assert (about.n, about.dimension, about.first_words) == (8, 6, tuple(WORDS))


@pytest.mark.parametrize("name", NAMES)
def test_blocks_without_a_count_make_the_same_file_to_a_reader(tmp_path, rng, name):
    words = [f"w{k}" for k in range(1000)]
    matrix = rng.standard_normal((1000, 5)).astype(np.float32)
    with VectorsWriter(tmp_path / name) as writer:
        for start in range(0, 1000, 300):
            writer.write(words[start : start + 300], matrix[start : start + 300])
        assert writer.n == 1000
        assert not (tmp_path / name).exists()
    found = read_vectors(tmp_path / name)  # a wrong count in a header would warn, and warnings are errors here
    assert found.labels == words
    assert np.array_equal(found.matrix, matrix)
    assert os.listdir(tmp_path) == [name]


def test_text_is_what_word2vecs_readers_expect(tmp_path):
    write_vectors(Vectors(["a", "b"], np.array([[0.1, 2.0], [-1e-5, 3.25]], np.float32)), tmp_path / "words.vec")
    lines = (tmp_path / "words.vec").read_text().split("\n")
    assert lines[0] == "2 2"
    assert [line.split(" ")[0] for line in lines[1:3]] == ["a", "b"]
    assert [[float(x) for x in line.split(" ")[1:]] for line in lines[1:3]] == [[0.1, 2.0], [-1e-5, 3.25]]
    assert lines[3:] == [""]


def test_digits(tmp_path, rng):
    write_vectors(Vectors(["a"], rng.standard_normal((1, 50))), tmp_path / "words.vec.gz", digits=3)
    row = gzip.decompress((tmp_path / "words.vec.gz").read_bytes()).split(b"\n")[1]
    assert max(len(number.lstrip(b"-0.")) for number in row.split(b" ")[1:]) <= 4
    with pytest.raises(ValueError, match="digits must be between 1 and 17, got 0"):
        VectorsWriter(tmp_path / "words.vec", digits=0)


def test_equal_vectors_give_equal_files(tmp_path, vectors):
    for name in ("one.vec.gz", "two.vec.gz"):
        write_vectors(vectors, tmp_path / name)
    assert (tmp_path / "one.vec.gz").read_bytes() == (tmp_path / "two.vec.gz").read_bytes()


def test_what_can_not_be_written(tmp_path, vectors):
    with pytest.raises(ValueError, match=r"expected a name that ends in \.vec, .*got 'words.csv'"):
        write_vectors(vectors, tmp_path / "words.csv")
    with pytest.raises(ValueError, match=r"got 'words\.npz\.gz'"):
        write_vectors(vectors, tmp_path / "words.npz.gz")
    with pytest.raises(ValueError, match="must have labels"):
        write_vectors(Vectors(None, np.eye(2)), tmp_path / "words.vec")
    with pytest.raises(ValueError, match=r"the word 'a\\nb', which has a line break"):
        write_vectors(Vectors(["a\nb"], np.eye(1)), tmp_path / "words.vec")
    with pytest.raises(ValueError, match="expected vectors to write, got none"), VectorsWriter(tmp_path / "words.vec"):
        pass
    with pytest.raises(ValueError, match="expected 3 vectors, as promised to VectorsWriter, got 1"):
        write_some(tmp_path / "words.vec", [np.eye(1)], count=3)
    with pytest.raises(ValueError, match="expected dimension 2 as before, got 3"):
        write_some(tmp_path / "words.vec", [np.ones((1, 2)), np.ones((1, 3))])
    with (
        pytest.raises(ValueError, match=r"got 1 words and shape \(2, 2\)"),
        VectorsWriter(tmp_path / "words.vec") as writer,
    ):
        writer.write(["a"], np.eye(2))
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="can not be written"):
        write_vectors(vectors, tmp_path / "file" / "words.vec")
    assert os.listdir(tmp_path) == ["file"]


def write_some(path, blocks, count=None):
    with VectorsWriter(path, count=count) as writer:
        for block in blocks:
            writer.write(["w"] * len(block), block)


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, vectors, name):
    write_vectors(vectors, tmp_path / name)
    before = (tmp_path / name).read_bytes()

    def fail():
        with VectorsWriter(tmp_path / name) as writer:
            writer.write(["a"], np.ones((1, 3)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / name).read_bytes() == before
    assert os.listdir(tmp_path) == [name]


WRITE_FOREVER = """
import sys
import numpy as np
from damastes.io import VectorsWriter
with VectorsWriter(sys.argv[1]) as writer:
    for k in range(10**9):
        writer.write([f"w{k}_{i}" for i in range(1000)], np.ones((1000, 50), np.float32))
        if k == 3:
            print("writing", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are not of Windows")
@pytest.mark.parametrize("name", ["words.vec", "words.vec.gz", "words.npz", "words.safetensors", "words.parquet"])
@pytest.mark.parametrize("old", [True, False])
def test_killed_in_the_middle_the_file_is_the_old_one_or_none(tmp_path, vectors, name, old):
    path = tmp_path / name
    if old:
        write_vectors(vectors, path)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(damastes.__file__))}
    command = [sys.executable, "-c", WRITE_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().strip() == b"writing"
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert process.returncode == -signal.SIGKILL
    if old:
        assert read_vectors(path).matrix.tobytes() == vectors.matrix.tobytes()
    else:
        assert not path.exists()
