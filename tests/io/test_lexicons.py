from __future__ import annotations

import pytest

from damastes import read_lexicon
from damastes.errors import FileFormatError


@pytest.fixture
def lexicon(tmp_path):
    def write(content):
        path = tmp_path / "pairs.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_tabs_and_blanks_separate_and_several_translations_stay(lexicon):
    path = lexicon("cat gato\ncat  gata\r\n\n  \nnew york\tnueva york\t0.9\nEU UE extra\n")
    assert read_lexicon(path) == [("cat", "gato"), ("cat", "gata"), ("new york", "nueva york"), ("EU", "UE")]


def test_a_word_may_hold_a_non_breaking_space(lexicon):
    assert read_lexicon(lexicon("c\u00a0est it\u00a0is\nun\u3000one\n")) == [
        ("c\u00a0est", "it\u00a0is"),
        ("un", "one"),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_word(lexicon):
    assert read_lexicon(lexicon("\ufeffcat gato\n")) == [("cat", "gato")]


@pytest.mark.parametrize("line", ["alone", "alone\t", "\talone"])
def test_a_line_without_two_words_is_named(lexicon, line):
    with pytest.raises(FileFormatError, match=r"line 3: expected two words .* got 'alone'"):
        read_lexicon(lexicon(f"cat gato\n\n{line}\n"))


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file(lexicon, content):
    with pytest.raises(FileFormatError, match="expected a lexicon, got an empty file"):
        read_lexicon(lexicon(content))


def test_other_encodings_and_missing_files(lexicon, tmp_path):
    with pytest.raises(FileFormatError, match="expected UTF-8 text"):
        read_lexicon(lexicon("año year\n".encode("latin-1")))
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_lexicon(tmp_path / "nowhere.txt")
