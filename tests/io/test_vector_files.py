from __future__ import annotations

import numpy as np
import pytest

from damastes import read_vectors
from damastes.errors import FileFormatError


@pytest.fixture
def text(tmp_path):
    """Write a text file and return its path."""

    def write(content):
        path = tmp_path / "words.vec"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def archive(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "words.npz", **arrays)
        return tmp_path / "words.npz"

    return write


class TestText:
    def test_words_and_numbers(self, text):
        vectors = read_vectors(text("2 3\nzürich 1 -2.5 3e-1\nbern 0 1 2\n"))
        assert vectors.labels == ["zürich", "bern"]
        assert vectors.matrix.dtype == np.float32
        assert vectors.matrix.tolist() == np.array([[1, -2.5, 0.3], [0, 1, 2]], np.float32).tolist()
        assert vectors.ordered
        assert vectors.name == "words.vec"

    def test_words_may_hold_blanks_and_lines_end_in_any_way(self, text):
        vectors = read_vectors(text("3 2\r\nnew york 1 2\r\n. . . 3 4 \n1 000 5 6"))
        assert vectors.labels == ["new york", ". . .", "1 000"]
        assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]

    def test_words_that_are_line_breaks_elsewhere_stay_words(self, text):
        assert read_vectors(text("2 2\na\u2028b 1 2\n\u00a0 3 4\n")).labels == ["a\u2028b", "\u00a0"]

    def test_of_a_repeated_word_the_first_counts(self, text):
        path = text("4 2\na 1 2\nb 3 4\na 5 6\na 7 8\n")
        with pytest.warns(UserWarning, match="left out 2 repeated words"):
            vectors = read_vectors(path)
        assert vectors.labels == ["a", "b"]
        assert vectors.matrix.tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize("limit", [1, 999, 1000, 1001, 2500])
    def test_at_most_limit_words_are_read(self, text, limit):
        path = text("2300 2\n" + "".join(f"w{i} {i} 1\n" for i in range(2300)))
        vectors = read_vectors(path, limit=limit)
        assert len(vectors) == min(limit, 2300)
        assert np.array_equal(vectors.matrix[:, 0], np.arange(len(vectors)))

    def test_lines_beyond_the_limit_are_not_looked_at(self, text):
        assert len(read_vectors(text("2 2\na 1 2\nb nan\n"), limit=1)) == 1

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                "2 0\na 1 2\n",
                "line 1: expected the number of words and a dimension between 1 and 10,000,000, got 2 words",
            ),
            ("hello\na 1 2\nb 1 2\n", r"line 1: expected a word and 2 numbers, got 0 \('hello'\)"),
            ("3 x\na 1 2\nb 1 2\n", r"line 1: expected a word and 2 numbers, got 1 \('3 x'\)"),
            ("<html>\n<p>not found</p>\n", "line 1: expected the number of words and the dimension, or a word and"),
            ("", "expected vectors, got an empty file"),
            ("2 3\n", "expected vectors, got none"),
            ("\n\n", "line 1: expected"),
            (bytes(range(256)), "got something else, which begins with"),
            ("h\u00e9".encode("utf-16"), "got something else, which begins with"),
        ],
    )
    def test_what_is_no_vector_file(self, text, content, message):
        with pytest.raises(FileFormatError, match=message):
            read_vectors(text(content))

    def test_a_short_row_is_named_by_its_line(self, text):
        rows = [f"w{i} 1 2" for i in range(1500)]
        rows[1200] = "short 1"
        with pytest.raises(FileFormatError, match=r"line 1202: expected a word and 2 numbers, got 1"):
            read_vectors(text("1500 2\n" + "\n".join(rows)))

    @pytest.mark.parametrize("number", ["nan", "inf", "1e50", "x", "1,5"])
    def test_a_bad_number_is_named_by_its_line(self, text, number):
        rows = [f"w{i} 1 2" for i in range(1500)]
        rows[1200] = f"bad 1 {number}"
        with pytest.raises(FileFormatError, match=f"line 1202: expected a finite number, got '{number}'"):
            read_vectors(text("1500 2\n" + "\n".join(rows)))


class TestArchive:
    def test_words_and_vectors(self, archive, rng):
        matrix = rng.standard_normal((5, 3))
        path = archive(words=np.array(["a", "b", "new york", "d", "e"]), vectors=matrix)
        vectors = read_vectors(path, limit=3)
        assert vectors.labels == ["a", "b", "new york"]
        assert vectors.matrix.dtype == np.float32
        assert np.array_equal(vectors.matrix, matrix[:3].astype(np.float32))
        assert vectors.ordered

    def test_of_a_repeated_word_the_first_counts(self, archive):
        path = archive(words=np.array(["a", "b", "a"]), vectors=np.arange(6.0).reshape(3, 2))
        with pytest.warns(UserWarning, match="left out 1 repeated words"):
            assert read_vectors(path).matrix.tolist() == [[0, 1], [2, 3]]

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"words": np.array(["a"])}, "expected arrays 'words' and 'vectors', got words"),
            (
                {"words": np.array(["a"]), "vectors": np.ones(3)},
                r"array 'vectors': .* got \(3,\) of float64",
            ),
            ({"words": np.array(["a"]), "vectors": np.ones((2, 3))}, r"got \(1,\) of <U1 and \(2, 3\) of"),
            ({"words": np.array(["a"]), "vectors": np.array([["x"]])}, "numeric vectors"),
            ({"words": np.array(["a"], dtype=object), "vectors": np.ones((1, 3))}, "can not be read"),
            (
                {"words": np.array(["a", "b"]), "vectors": np.array([[1.0], [np.nan]])},
                r"row 2 \('b'\): expected .* got nan",
            ),
            (
                {"words": np.array(["a", "b"]), "vectors": np.array([[1.0], [1e50]])},
                r"row 2 \('b'\): expected .* got inf",
            ),
            ({"words": np.array([], dtype=str), "vectors": np.ones((0, 3))}, "expected vectors, got none"),
        ],
    )
    def test_bad_archives_say_what_is_wrong(self, archive, arrays, message):
        with pytest.raises(ValueError, match=message):
            read_vectors(archive(**arrays))

    def test_no_damage_escapes_as_another_error(self, tmp_path):
        path = tmp_path / "words.npz"
        np.savez_compressed(path, words=np.array(["a", "b", "c"]), vectors=np.arange(30.0).reshape(3, 10))
        content = path.read_bytes()
        refused = 0
        for place in range(0, len(content), 3):
            path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
            try:
                read_vectors(path)
            except FileFormatError:
                refused += 1
        assert refused > len(content) / 6

    def test_damage_is_noticed(self, archive, rng):
        path = archive(words=np.array(["a", "b"]), vectors=rng.standard_normal((2, 50)))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="can not be read"):
            read_vectors(path)
        path.write_bytes(content[:-100])
        with pytest.raises(FileFormatError, match=r"words\.npz"):
            read_vectors(path)


def test_no_file_and_no_limit(tmp_path, text):
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_vectors(tmp_path / "nowhere.vec")
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_vectors(tmp_path)
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        read_vectors(text("1 1\na 1\n"), limit=0)
