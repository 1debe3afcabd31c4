"""fastText models: `data/*.bin` and the vectors that fastText 0.9.2 gives for them, in `data/fasttext.json`."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from damastes import read_vectors
from damastes.errors import FileFormatError
from damastes.io import FastTextVectors, describe, iter_vectors

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "fasttext.json").read_text(encoding="utf-8"))


@pytest.fixture(params=[None, "gzip"])
def model(request, tmp_path):
    """The path of a model by name, as it is or compressed."""

    def path(name):
        if request.param is None:
            return DATA / name
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((DATA / name).read_bytes()))
        return tmp_path / f"{name}.gz"

    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_words_and_unseen_words_have_fasttexts_own_vectors(model, name):
    vectors = read_vectors(model(name))
    assert isinstance(vectors, FastTextVectors)
    assert vectors.labels == list(EXPECTED[name]["words"])
    np.testing.assert_allclose(vectors.matrix, list(EXPECTED[name]["words"].values()), atol=2e-7)
    for word, vector in {**EXPECTED[name]["unseen"], **EXPECTED[name]["words"]}.items():
        np.testing.assert_allclose(vectors.vector(word), vector, atol=2e-7, err_msg=word)
    if name == "pieces.bin":
        assert all(np.any(vector) for vector in EXPECTED[name]["unseen"].values())


def test_part_of_a_model_still_knows_the_other_words(model):
    vectors = read_vectors(model("pieces.bin"), limit=3)
    expected = EXPECTED["pieces.bin"]
    assert vectors.labels == list(expected["words"])[:3]
    np.testing.assert_allclose(vectors.vector("zürichs"), expected["unseen"]["zürichs"], atol=2e-7)
    assert [word for block in iter_vectors(model("pieces.bin"), block=2) for word in block.words] == list(
        expected["words"]
    )
    about = describe(model("pieces.bin"))
    assert (about.format, about.n, about.dimension) == ("fasttext", len(expected["words"]), 4)


def test_words_beyond_the_limit_keep_their_own_vectors():
    vectors = read_vectors(DATA / "pieces.bin", limit=3)
    for word, vector in EXPECTED["pieces.bin"]["words"].items():
        np.testing.assert_allclose(vectors.vector(word), vector, atol=2e-7, err_msg=word)


def test_pickles():
    vectors = pickle.loads(pickle.dumps(read_vectors(DATA / "pieces.bin")))
    np.testing.assert_allclose(vectors.vector("q"), EXPECTED["pieces.bin"]["unseen"]["q"], atol=2e-7)


def build(words, rows, *, labels=(), minn=0, maxn=0, bucket=0, pruned=None, quantized=False, version=12, promised=None):
    """Return the bytes of a model, written from the description of the format."""
    dimension = rows.shape[1]
    kind = 3 if labels else 2
    args = struct.pack("<12id", dimension, 5, 5, 1, 5, 1, 2, kind, bucket, minn, maxn, 100, 1e-4)
    n_pruned = -1 if pruned is None else len(pruned)
    counts = struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), 1000, n_pruned)
    entries = b"".join(
        word.encode() + b"\x00" + struct.pack("<qb", 10, kind)
        for kind, group in ((0, words), (1, labels))
        for word in group
    )
    kept = b"".join(struct.pack("<2i", *pair) for pair in (pruned or {}).items())
    matrix = struct.pack("<?2q", quantized, *(promised or rows.shape)) + rows.astype("<f4").tobytes()
    output = struct.pack("<?2q", False, 1, dimension) + bytes(4 * dimension)
    return struct.pack("<2i", 793712314, version) + args + counts + entries + kept + matrix + output


@pytest.fixture
def written(tmp_path):
    def write(*args, **options):
        path = tmp_path / "model.bin"
        path.write_bytes(build(*args, **options))
        return path

    return write


def test_labels_are_no_words(written, rng):
    rows = rng.standard_normal((5, 3)).astype(np.float32)
    vectors = read_vectors(written(["a", "b"], rows, labels=["__label__x"], bucket=3))
    assert vectors.labels == ["a", "b"]
    assert np.array_equal(vectors.matrix, rows[:2])


def test_old_classifiers_have_no_pieces_whatever_they_say(written, rng):
    rows = rng.standard_normal((6, 3)).astype(np.float32)
    path = written(["a", "b"], rows, labels=["__label__x"], bucket=4, minn=1, maxn=2, version=11)
    assert np.array_equal(read_vectors(path).matrix, rows[:2])


def test_pruned_models_keep_some_pieces(written, rng):
    rows = rng.standard_normal((4, 3)).astype(np.float32)
    # "ab" has the piece "<ab>" of four letters; only its bucket was kept, in the second place.
    h = 2166136261
    for byte in b"<ab>":
        h = (h ^ byte) * 16777619 % 2**32
    path = written(["ab", "cd"], rows, minn=4, maxn=4, bucket=1000, pruned={h % 1000: 1, (h + 1) % 1000: 0})
    np.testing.assert_allclose(read_vectors(path).matrix, [(rows[0] + rows[3]) / 2, rows[1]], rtol=1e-6)


def test_models_that_can_not_be_read(written, rng):
    rows = rng.standard_normal((2, 3)).astype(np.float32)
    with pytest.raises(FileFormatError, match=r"expected a full fastText model, got a quantized one \(\.ftz\)"):
        read_vectors(written(["a", "b"], rows, quantized=True))
    with pytest.raises(FileFormatError, match="version 11 or 12, got version 13"):
        read_vectors(written(["a", "b"], rows, version=13))
    with pytest.raises(FileFormatError, match=r"expected .* bytes of a matrix, got .*cut off"):
        read_vectors(written(["a", "b"], rows, promised=(10**12, 3)))
    with pytest.raises(FileFormatError, match=r"expected a matrix 2 × 3, got 2 × 2000000000"):
        read_vectors(written(["a", "b"], rows, promised=(2, 2 * 10**9)))
    with pytest.raises(FileFormatError, match=r"expected a matrix 12 × 3, got 2 × 3"):
        read_vectors(written(["a", "b"], rows, bucket=10, minn=1, maxn=3))


def test_no_cut_escapes_as_another_error(tmp_path):
    content = (DATA / "pieces.bin").read_bytes()
    output = 17 + 4 * 4 * 17  # what comes after the input matrix is not needed
    path = tmp_path / "model.bin"
    for length in range(8, len(content) - output, 7):
        path.write_bytes(content[:length])
        with pytest.raises(FileFormatError):
            read_vectors(path)
