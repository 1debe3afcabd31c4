"""What real text files contain, with Arrow's parser and without it."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from damastes import read_vectors
from damastes.errors import FileFormatError
from damastes.io import iter_vectors


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def parser(request, monkeypatch):
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.fixture
def text(tmp_path, parser):
    def write(content):
        path = tmp_path / "words.vec"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def many(n, d, rng, word="w{}", digits="%.4f"):
    """Return n usual lines and their matrix."""
    matrix = rng.standard_normal((n, d)).astype(np.float32)
    lines = [word.format(k) + " " + " ".join(digits % x for x in row) for k, row in enumerate(matrix.tolist())]
    return lines, np.array([[float(digits % x) for x in row] for row in matrix.tolist()], np.float32)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", " \r\n", "\t\n"])
@pytest.mark.parametrize("header", [True, False])
def test_usual_files_with_any_line_end(text, rng, end, header):
    lines, matrix = many(3000, 50, rng)
    content = ([f"{len(lines)} 50"] if header else []) + lines
    vectors = read_vectors(text(end.join(content) + end))
    assert vectors.labels == [f"w{k}" for k in range(3000)]
    assert np.array_equal(vectors.matrix, matrix)


@pytest.mark.parametrize("header", [True, False])
def test_odd_words_among_many(text, rng, header):
    odd = [
        "",
        ". . .",
        "new york",
        "a\u00a0b",
        "\u00a0",
        "3",
        "1 2",
        '"quoted',
        "it's",
        "a,b",
        "#",
        "nan",
        "\u2028",
        "a\tb",
    ]
    lines, matrix = many(4000, 40, rng)
    words = [f"w{k}" for k in range(4000)]
    for k, word in enumerate(odd):
        place = 37 + 250 * k
        words[place] = word
        lines[place] = word + " " + lines[place].split(" ", 1)[1]
    vectors = read_vectors(text("\n".join(([f"{len(lines)} 40"] if header else []) + lines) + "\n"))
    assert vectors.labels == words
    assert np.array_equal(vectors.matrix, matrix)


def test_broken_utf8_loads(text):
    path = text(b"3 2\ncaf\xe9 1 2\n\xff\xfe 3 4\nb\xc3 c 5 6\n")
    assert read_vectors(path).labels == ["caf\ufffd", "\ufffd\ufffd", "b\ufffd c"]


def test_numbers_come_in_many_shapes(text):
    numbers = ["1", "-2", "+3", ".5", "5.", "1e3", "-1E-3", "0.1e+2", "1e-60", "-0", "00012", "123456789.123456789"]
    vectors = read_vectors(text(f"1 {len(numbers)}\nw {' '.join(numbers)}\n"))
    assert vectors.matrix[0].tolist() == np.array([float(number) for number in numbers], np.float32).tolist()


def test_tabs_and_several_blanks_separate_too(text):
    vectors = read_vectors(text("4 2\na\t1\t2\nb  3   4\n c d\t5 6 \n\te 7\t 8\n"))
    assert [label.strip() for label in vectors.labels] == ["a", "b", "c d", "e"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_a_byte_order_mark_is_no_word(text):
    assert read_vectors(text(b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n")).labels == ["a", "b"]
    assert read_vectors(text(b"\xef\xbb\xbfa 1 2\nb 3 4\n")).labels == ["a", "b"]


@pytest.mark.parametrize("promised", [1, 3, 10**12])
def test_a_wrong_count_in_the_header_is_a_warning(text, promised):
    with pytest.warns(UserWarning, match=f"header promises {promised} words, but 2 follow"):
        assert len(read_vectors(text(f"{promised} 2\na 1 2\nb 3 4\n"))) == 2


@pytest.mark.parametrize("rest", ["c 5", "c 5 6 -", "c", "c 5 6 1e"])
def test_a_last_line_cut_off_is_a_warning(text, rest):
    with pytest.warns(UserWarning, match="left out the last line, line 3, which is cut off"):
        vectors = read_vectors(text(f"a 1 2 3\nb 3 4 5\n{rest}"))
    assert vectors.labels == ["a", "b"]


def test_a_whole_last_line_needs_no_line_break(text):
    assert read_vectors(text("2 2\na 1 2\nb 3 4")).labels == ["a", "b"]


def test_a_short_last_line_with_its_end_is_an_error(text):
    with pytest.raises(FileFormatError, match=r"line 3: expected a word and 2 numbers, got 1 \('b 3'\)"):
        read_vectors(text("2 2\na 1 2\nb 3\n"))


def test_glove_dimension_is_that_of_most_lines(text):
    lines = [". . . 1 2 3", "at 5 1 2 3", "7 1 2 3", "the 1 2 3", "of 4 5 6", "name@domain.com 1 2 3", "to 1 2 3"]
    vectors = read_vectors(text("\n".join(lines) + "\n"))
    assert vectors.dimension == 3
    assert vectors.labels == [". . .", "at 5", "7", "the", "of", "name@domain.com", "to"]


def test_glove_lines_may_be_long(text, rng):
    lines, matrix = many(3, 40_000, rng)
    assert len(lines[0]) > 1 << 18
    assert np.array_equal(read_vectors(text("\n".join(lines) + "\n")).matrix, matrix)


@pytest.mark.parametrize("bad", ["w 1 2", "w 1 2 x", "w 1 nan 2", "w inf 1 2", "w 1 1e50 2", "w 1 2,5 3", "w 1 1_0 2"])
def test_bad_lines_are_named_or_dropped(text, rng, bad):
    lines, matrix = many(2500, 3, rng)
    lines[10] = lines[2100] = bad
    path = text("2500 3\n" + "\n".join(lines) + "\n")
    with pytest.raises(FileFormatError, match=r"words\.vec, line 12: expected a .*skip_bad_lines"):
        read_vectors(path)
    with pytest.warns(UserWarning, match="dropped 2 bad lines"):
        vectors = read_vectors(path, skip_bad_lines=True)
    assert np.array_equal(vectors.matrix, np.delete(matrix, [10, 2100], axis=0))
    with pytest.warns(UserWarning, match="dropped 1 bad lines"):
        vectors = read_vectors(path, skip_bad_lines=True, limit=1000)
    assert np.array_equal(vectors.matrix, np.delete(matrix, 10, axis=0)[:1000])


@pytest.mark.parametrize("content", ["1000000000000 2000000000\na 1 2\n", "1000000000000 2000000000\na 1 2"])
def test_a_header_that_promises_the_world(text, content):
    with pytest.raises(FileFormatError, match=r"line 1: expected .* got 1000000000000 words of dimension 2000000000"):
        read_vectors(text(content))
    with pytest.raises(FileFormatError, match="line 2: expected a word and 9999999 numbers, got 2"):
        read_vectors(text(content.replace("2000000000", "9999999").rstrip() + "\n"))


def test_empty_lines_are_no_rows(text):
    assert read_vectors(text("2 2\n\na 1 2\n\n\nb 3 4\n\n  \n")).labels == ["a", "b"]


def test_limit_reads_no_further_than_it_must(text, rng, monkeypatch):
    lines, matrix = many(20_000, 50, rng)
    path = text("20000 50\n" + "\n".join(lines) + "\n")
    read = 0
    from damastes.io.stream import Stream

    original = Stream._read_some

    def counted(self, n):
        nonlocal read
        data = original(self, n)
        read += len(data)
        return data

    monkeypatch.setattr(Stream, "_read_some", counted)
    assert np.array_equal(read_vectors(path, limit=2000).matrix, matrix[:2000])
    assert read < path.stat().st_size / 4


def test_blocks_are_the_file_in_bounded_pieces(text, rng):
    lines, matrix = many(5000, 20, rng)
    path = text("5000 20\n" + "\n".join(lines) + "\n")
    blocks = list(iter_vectors(path, block=700))
    assert max(len(words) for words, _ in blocks) == 700
    assert [word for words, _ in blocks for word in words] == [f"w{k}" for k in range(5000)]
    assert np.array_equal(np.concatenate([matrix for _, matrix in blocks]), matrix)
    assert sum(len(words) for words, _ in iter_vectors(path, block=700, limit=1234)) == 1234
    with pytest.raises(ValueError, match="block must be at least 1, got 0"):
        next(iter_vectors(path, block=0))


def test_a_line_without_end_is_given_up(text, monkeypatch):
    monkeypatch.setattr("damastes.io.text._LONGEST_LINE", 1 << 20)
    with pytest.raises(FileFormatError, match="line 2: expected a word and its numbers, got a line of"):
        read_vectors(text(b"5 3\n" + b"1 " * (1 << 22)))


def test_memory_stays_below_twice_the_array(text, rng, monkeypatch):
    monkeypatch.setattr(
        "damastes.io.text._BLOCK", 1 << 18
    )  # small beside a small array, as blocks are beside large ones
    lines, _ = many(20_000, 100, rng)
    path = text("20000 100\n" + "\n".join(lines) + "\n")
    read_vectors(path, limit=10)
    tracemalloc.start()
    vectors = read_vectors(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * vectors.matrix.nbytes
