"""Every form of vector file: the same words and numbers come back, and damage is said to be damage."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
import struct
import sys
import zipfile

import numpy as np
import pytest

from damastes import Vectors, read_vectors
from damastes.errors import FileFormatError, MissingExtraError
from damastes.io import describe, iter_vectors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
zstandard = pytest.importorskip("zstandard")

WORDS = ["the", "new york", "zürich", "東京", "a\u00a0b"]
TEXT_WORDS = ["the", "new_york", "zürich", "東京", "a\u00a0b"]


@pytest.fixture
def matrix(rng):
    return rng.standard_normal((5, 7)).astype(np.float32)


def text(matrix):
    rows = [f"{word} {' '.join(map(repr, row))}" for word, row in zip(WORDS, matrix.tolist(), strict=True)]
    return ("5 7\n" + "\n".join(rows) + "\n").encode()


def binary(matrix, words=TEXT_WORDS, end=b"\n", header=None):
    header = header or f"{len(words)} {matrix.shape[1]}\n"
    rows = (word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, matrix, strict=True))
    return header.encode() + b"".join(rows)


def assert_read(path, words, matrix, form):
    vectors = read_vectors(path)
    assert vectors.labels == words
    assert vectors.matrix.dtype == np.float32
    assert np.array_equal(vectors.matrix, matrix)
    assert vectors.ordered
    assert read_vectors(path, limit=2).labels == words[:2]
    assert [word for block in iter_vectors(path, block=2) for word in block.words] == words
    about = describe(path, n_words=3)
    assert (about.format, about.dimension, about.first_words) == (form, matrix.shape[1], tuple(words[:3]))
    return about


class TestCompression:
    @pytest.mark.parametrize(
        ("compress", "name"),
        [
            (gzip.compress, "gzip"),
            (bz2.compress, "bzip2"),
            (lzma.compress, "xz"),
            (zstandard.ZstdCompressor().compress, "zstandard"),
            (lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]), "gzip"),
            (lambda data: b"".join(map(zstandard.ZstdCompressor().compress, (data[:50], data[50:]))), "zstandard"),
        ],
    )
    def test_is_told_by_content(self, tmp_path, matrix, compress, name):
        path = tmp_path / "vectors.dat"
        path.write_bytes(compress(text(matrix)))
        assert assert_read(path, WORDS, matrix, "text").compression == name
        path.write_bytes(compress(binary(matrix)))
        assert assert_read(path, TEXT_WORDS, matrix, "word2vec-binary").compression == name

    def test_a_zip_of_one_file(self, tmp_path, matrix):
        path = tmp_path / "wiki.vec.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("wiki.vec", text(matrix))
        assert assert_read(path, WORDS, matrix, "text").compression == "zip"

    @pytest.mark.parametrize(
        "compress", [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress]
    )
    def test_damage_is_noticed(self, tmp_path, rng, compress):
        path = tmp_path / "vectors.dat"
        data = compress(b"2000 5\n" + b"".join(b"w%d %.4f 1 2 3 4\n" % (k, rng.random()) for k in range(2000)))
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(FileFormatError, match=r"damaged or cut off after \d+ bytes of content"):
            list(iter_vectors(path))

    def test_a_word_may_begin_like_an_archive(self, tmp_path):
        path = tmp_path / "words.vec"
        path.write_text("BZh9 1 2\nb 3 4\n")
        assert read_vectors(path).labels == ["BZh9", "b"]

    def test_arrays_are_not_compressed_twice(self, tmp_path, matrix):
        np.savez(tmp_path / "words.npz", words=WORDS, vectors=matrix)
        (tmp_path / "words.npz.gz").write_bytes(gzip.compress((tmp_path / "words.npz").read_bytes()))
        with pytest.raises(FileFormatError, match=r"got npz\. Decompress it first"):
            read_vectors(tmp_path / "words.npz.gz")

    def test_zstandard_without_the_extra(self, tmp_path, matrix, monkeypatch):
        (tmp_path / "words.vec.zst").write_bytes(zstandard.ZstdCompressor().compress(text(matrix)))
        monkeypatch.setitem(sys.modules, "zstandard", None)
        if sys.version_info < (3, 14):
            with pytest.raises(MissingExtraError, match=r"pip install 'damastes\[io\]'"):
                read_vectors(tmp_path / "words.vec.zst")


class TestWord2vecBinary:
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_with_and_without_line_breaks(self, tmp_path, matrix, end):
        path = tmp_path / "GoogleNews.bin"
        path.write_bytes(binary(matrix, end=end))
        assert assert_read(path, TEXT_WORDS, matrix, "word2vec-binary").n == 5

    def test_many_words(self, tmp_path, rng):
        path = tmp_path / "words.bin"
        matrix = rng.standard_normal((30_000, 60)).astype(np.float32)
        path.write_bytes(binary(matrix, [f"w{k}" for k in range(30_000)]))
        vectors = read_vectors(path)
        assert vectors.labels == [f"w{k}" for k in range(30_000)]
        assert np.array_equal(vectors.matrix, matrix)
        assert np.array_equal(read_vectors(path, limit=20_000).matrix, matrix[:20_000])

    def test_cut_off_and_miscounted(self, tmp_path, matrix):
        path = tmp_path / "words.bin"
        path.write_bytes(binary(matrix)[:-9])
        with pytest.warns(UserWarning, match=r"cut off|promises") as caught:
            vectors = read_vectors(path)
        assert vectors.labels == TEXT_WORDS[:4]
        assert ["word 5, the last, which is cut off" in str(w.message) for w in caught] == [True, False]
        assert "promises 5 words, but 4 follow" in str(caught[1].message)

    def test_a_header_that_promises_the_world(self, tmp_path, matrix):
        path = tmp_path / "words.bin"
        path.write_bytes(binary(matrix, header="1000000000000 2000000000\n"))
        with pytest.raises(FileFormatError, match="got 1000000000000 words of dimension 2000000000"):
            read_vectors(path)
        path.write_bytes(binary(matrix, header="1000000000000 10000000\n"))
        with pytest.raises(FileFormatError, match="expected vectors, got none"):
            read_vectors(path)

    def test_nan_is_named_or_dropped(self, tmp_path, matrix):
        matrix[1, 3] = np.nan
        path = tmp_path / "words.bin"
        path.write_bytes(binary(matrix))
        with pytest.raises(FileFormatError, match=r"row 2 \('new_york'\): expected finite numbers, got nan"):
            read_vectors(path)
        with pytest.warns(UserWarning, match="dropped 1 bad"):
            assert read_vectors(path, skip_bad_lines=True, limit=3).labels == ["the", "zürich", "東京"]


class TestNpy:
    @pytest.mark.parametrize("name", ["en.vocab", "en.txt", "en.words", "en.vocab.txt"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_with_a_vocabulary_beside_it(self, tmp_path, matrix, name, order):
        np.save(tmp_path / "en.npy", np.asarray(matrix, order=order))
        (tmp_path / name).write_text("\n".join(WORDS) + "\n", encoding="utf-8")
        assert assert_read(tmp_path / "en.npy", WORDS, matrix, "npy").n == 5

    def test_with_a_named_vocabulary_with_counts(self, tmp_path, matrix):
        np.save(tmp_path / "en.npy", matrix.astype(np.float16))
        (tmp_path / "counts").write_text("".join(f"{word} {k}\n" for k, word in enumerate(WORDS)), encoding="utf-8")
        vectors = read_vectors(tmp_path / "en.npy", vocabulary=tmp_path / "counts")
        assert vectors.labels == WORDS
        assert np.array_equal(vectors.matrix, matrix.astype(np.float16).astype(np.float32))

    def test_bad_ones(self, tmp_path, matrix):
        path = tmp_path / "en.npy"
        np.save(path, matrix)
        with pytest.raises(FileFormatError, match=r"expected a file with its words.*en\.vocab.*got none"):
            read_vectors(path)
        assert (describe(path).n, describe(path).dimension, describe(path).first_words) == (5, 7, ())
        (tmp_path / "en.vocab").write_text("a\nb\n")
        with pytest.raises(FileFormatError, match="expected a vocabulary of 5 words, one a row, got 2"):
            read_vectors(path)
        np.save(path, np.array(WORDS, dtype=object))
        with pytest.raises(FileFormatError, match="pickled objects"):
            read_vectors(path)
        np.save(path, np.ones(4))
        with pytest.raises(FileFormatError, match=r"expected numeric vectors \(n, d\), got \(4,\)"):
            read_vectors(path)

    def test_a_header_that_promises_the_world(self, tmp_path):
        path = tmp_path / "en.npy"
        np.save(path, np.ones((2, 3)))
        (tmp_path / "en.vocab").write_text("a\nb\n")
        shape = b"(1000000000000, 2000000000), "
        path.write_bytes(path.read_bytes().replace(b"(2, 3), }".ljust(len(shape) + 1), shape + b"}"))
        assert describe_shape(path) == (10**12, 2 * 10**9)
        with pytest.raises(FileFormatError, match="expected"):
            read_vectors(path)


def describe_shape(path):
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        return np.lib.format.read_array_header_1_0(file)[0]


class TestSafetensors:
    def test_a_matrix_with_a_vocabulary(self, tmp_path, matrix):
        from safetensors.numpy import save_file

        save_file({"embeddings": matrix}, tmp_path / "model.safetensors")
        with pytest.raises(FileFormatError, match=r"expected a file with its words"):
            read_vectors(tmp_path / "model.safetensors")
        (tmp_path / "model.vocab").write_text("\n".join(WORDS), encoding="utf-8")
        assert assert_read(tmp_path / "model.safetensors", WORDS, matrix, "safetensors").n == 5

    def test_bad_ones(self, tmp_path, matrix):
        from safetensors.numpy import save_file

        path = tmp_path / "model.safetensors"
        save_file({"a": matrix, "b": matrix}, path)
        with pytest.raises(FileFormatError, match=r"expected one floating matrix \(n, d\), got a \(5, 7\), b \(5, 7\)"):
            read_vectors(path)
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(FileFormatError, match="damaged, cut off or something else"):
            read_vectors(path)
        header = json.dumps(
            {"v": {"dtype": "F32", "shape": [10**12, 2 * 10**9], "data_offsets": [0, 8 * 10**21]}}
        ).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(FileFormatError, match="damaged"):
            read_vectors(path)


class TestParquet:
    @pytest.mark.parametrize(
        "kind", [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 7)]
    )
    def test_words_and_lists(self, tmp_path, matrix, kind):
        table = pa.table({"id": range(5), "token": WORDS, "embedding": pa.array(matrix.tolist(), kind)})
        pq.write_table(table, tmp_path / "words.parquet", row_group_size=2)
        assert assert_read(tmp_path / "words.parquet", WORDS, matrix, "parquet").n == 5

    def test_words_may_be_categories_and_broken(self, tmp_path):
        words = pa.array([b"caf\xe9", b"b", b"c"], pa.binary()).view(pa.string())
        cases = ((words, ["caf\ufffd", "b", "c"]), (words[1:].dictionary_encode(), ["b", "c"]))
        for column, expected in cases:
            vectors = pa.array(np.eye(3)[: len(column)].tolist())
            pq.write_table(pa.table({"word": column, "vector": vectors}), tmp_path / "words.parquet")
            assert read_vectors(tmp_path / "words.parquet").labels == expected

    def test_rows_that_do_not_fit(self, tmp_path):
        path = tmp_path / "words.parquet"
        vectors = [[1.0, 2.0], [3.0], [4.0, None], None, [5.0, 6.0], [7.0, 8.0]]
        pq.write_table(pa.table({"word": ["a", "b", "c", "d", "e", None], "vector": vectors}), path)
        with pytest.raises(FileFormatError, match="row 2: expected a word and a list of 2 numbers, got 'b' and 1"):
            read_vectors(path)
        with pytest.warns(UserWarning, match="dropped 4 bad"):
            assert read_vectors(path, skip_bad_lines=True).labels == ["a", "e"]

    def test_other_tables(self, tmp_path):
        path = tmp_path / "words.parquet"
        pq.write_table(pa.table({"a": [1, 2]}), path)
        with pytest.raises(
            FileFormatError, match=r"a column of words and a column of lists of numbers, got a \(int64\)"
        ):
            read_vectors(path)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(FileFormatError, match="damaged or cut off"):
            read_vectors(path)

    def test_without_the_extra(self, tmp_path, monkeypatch):
        pq.write_table(pa.table({"word": ["a"], "vector": [[1.0]]}), tmp_path / "words.parquet")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"Parquet files need pyarrow: pip install 'damastes\[io\]'"):
            read_vectors(tmp_path / "words.parquet")


class Gadget:
    """Stands for a class of gensim's: a pickle names it by module and name."""


def test_pickles_are_refused_with_the_way_out(tmp_path):
    path = tmp_path / "model.kv"
    path.write_bytes(pickle.dumps(Gadget()))
    with pytest.raises(FileFormatError, match="a pickle, which is a program and not data"):
        read_vectors(path)
    for module, code in (
        ("gensim.models.keyedvectors", "KeyedVectors.load('{}').save"),
        ("gensim.models.word2vec", "Word2Vec.load('{}').wv.save"),
        ("gensim.models.fasttext", "FastText.load('{}').wv.save"),
    ):
        path.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c" + bytes([len(module)]) + module.encode())
        with pytest.raises(FileFormatError, match="a pickle of gensim's") as caught:
            read_vectors(path)
        assert code.format(path) + f"_word2vec_format('{tmp_path / 'model.vec'}')" in str(caught.value)


class KeyedVectors:
    """As gensim's: words in order of frequency, and a matrix."""

    def __init__(self, words, matrix):
        self.index_to_key, self.vectors = words, matrix


class Vocab:
    """As spaCy's: strings by key, and rows by key, which some share."""

    class Store:
        def __init__(self, matrix, rows):
            self.data, self.key2row = matrix, rows

    def __init__(self, words, rows, matrix):
        self.strings = dict(enumerate(words))
        self.vectors = self.Store(matrix, rows)


def test_vectors_of_other_libraries_are_taken_as_they_are(matrix):
    from damastes.vectors import as_vectors

    vectors = as_vectors(KeyedVectors(WORDS, matrix), "source")
    assert (vectors.labels, vectors.ordered) == (WORDS, True)
    assert vectors.matrix is matrix
    vectors = as_vectors(Vocab(["a", "b", "c"], {0: 4, 1: 0, 2: 4}, matrix), "source")
    assert (vectors.labels, vectors.ordered) == (["b", "a", "c"], False)
    assert np.array_equal(vectors.matrix, matrix[[0, 4, 4]])
    with pytest.raises(ValueError, match="a vocabulary with vectors"):
        as_vectors(Vocab([], {}, matrix), "source")
    assert as_vectors(matrix, "source").labels is None
    given = Vectors(WORDS, matrix)
    assert as_vectors(given, "source") is given
