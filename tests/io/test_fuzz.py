"""Any bytes at all: a reader gives vectors or our own error, soon, and in little memory.

`DAMASTES_FUZZ=20000 python -m pytest tests/io/test_fuzz.py` tries that many files a test instead of a hundred.
"""

from __future__ import annotations

import atexit
import bz2
import gzip
import lzma
import os
import re
import shutil
import sys
import tempfile
import warnings
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from damastes import Vectors, read_lexicon, read_vectors, samples, write_vectors
from damastes.errors import FileFormatError
from damastes.io import describe, iter_vectors, load_map

pytest.importorskip("pyarrow")
zstandard = pytest.importorskip("zstandard")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
given = hypothesis.given

fuzz = hypothesis.settings(
    max_examples=int(os.environ.get("DAMASTES_FUZZ", "100")),
    deadline=timedelta(seconds=20),  # slower is a hang
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
DATA = Path(__file__).parent / "data"
FOLDER = Path(tempfile.mkdtemp(prefix="damastes-fuzz-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
MEMORY = 3 << 30  # far less than a lying header promises


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    """Refuse memory beyond some gigabytes: then a reader that believes a header fails with another error than ours."""
    resource = pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 500_000, "kilobytes more than before"


def read(content: bytes, **options) -> Vectors | FileFormatError:
    """Read bytes as a file in every way; the vectors or the error."""
    path = FOLDER / "vectors"
    path.write_bytes(content)
    (FOLDER / "vectors.vocab").write_text("a\nb\nc\n")
    found: Vectors | FileFormatError
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of NumPy's or Arrow's is none of the user's business
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = read_vectors(path, **options)
        except FileFormatError as error:
            found = error
        if isinstance(found, FileFormatError):
            with pytest.raises(FileFormatError, match=re.escape(str(found))):
                list(iter_vectors(path, block=2, **options))
        else:
            assert sum(len(words) for words, _ in iter_vectors(path, block=2, **options)) >= len(found)
        with suppress(FileFormatError):  # it may look further than `limit`, or not so far
            assert describe(path).dimension >= 1
    if isinstance(found, Vectors):
        assert np.isfinite(found.matrix).all()
        assert len(set(found.labels)) == len(found.labels) == len(found)
    return found


OPTIONS = {"limit": st.none() | st.integers(1, 5), "skip_bad_lines": st.booleans()}
MAGIC = st.sampled_from(
    [
        *(
            b"",
            b"\x1f\x8b\x08",
            b"BZh91AY&SY",
            b"\xfd7zXZ\x00",
            b"\x28\xb5\x2f\xfd",
            b"PK\x03\x04",
            b"PAR1",
            b"\x93NUMPY",
        ),
        *(
            b"\x93NUMPY\x01\x00v\x00",
            b"\xba\x16\x4f\x2f\x0c\x00\x00\x00",
            b"\x80\x04",
            b"2 3\n",
            b"\x20" + bytes(7) + b"{",
        ),
        *(b"1000000000000 2000000000\n", b"1000000000000 9000000\n", b"3 1\na ", b"\xef\xbb\xbf"),
    ]
)


@fuzz
@given(magic=MAGIC, content=st.binary(max_size=400), **OPTIONS)
def test_any_bytes(magic, content, limit, skip_bad_lines):
    read(magic + content, limit=limit, skip_bad_lines=skip_bad_lines)


FIELDS = st.sampled_from(
    [
        *(
            b"1",
            b"-0.25",
            b"1e3",
            b"nan",
            b"inf",
            b"1e99",
            b"1e-99",
            b"x",
            b"\xff",
            b".",
            b"\xc2\xa0",
            b"3",
            b"+2",
            b"1_0",
            b"",
        ),
        *(b"0x1", b"1,5", b"infinity", b"-", b"e", b"\xef\xbb\xbf", b"NULL", b'"', b"\x00", b"\x0c", b"\xe2\x80\xa8"),
    ]
)
BETWEEN = st.sampled_from([b" "] * 6 + [b"  ", b"\t", b" \t", b"\r"])
ENDS = st.sampled_from([b"\n"] * 6 + [b"\r\n", b" \n", b"\n\n", b"\r", b""])


@st.composite
def text_files(draw):
    """Files of words and numbers: mostly right, wrong in places."""
    dimension = draw(st.integers(1, 4))
    lines = []
    if draw(st.booleans()):
        lines.append(
            b"%d %d\n" % (draw(st.sampled_from([0, 3, 10**12])), draw(st.sampled_from([dimension] * 5 + [2, 10**9])))
        )
    for _ in range(draw(st.integers(0, 8))):
        usual = draw(st.integers(0, 3))
        n = dimension if usual else draw(st.integers(0, 6))
        numbers = [draw(FIELDS) if not usual else b"%.3f" % draw(st.floats(-9, 9)) for _ in range(n)]
        line = draw(FIELDS | st.sampled_from([b"w%d" % k for k in range(9)]))
        for number in numbers:
            line += (b" " if usual else draw(BETWEEN)) + number
        lines.append(line + draw(ENDS))
    return b"".join(lines)


@fuzz
@given(content=text_files(), **OPTIONS)
def test_text_and_both_parsers_agree(content, limit, skip_bad_lines):
    fast = read(content, limit=limit, skip_bad_lines=skip_bad_lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        slow = read(content, limit=limit, skip_bad_lines=skip_bad_lines)
    if isinstance(fast, FileFormatError):
        assert str(fast) == str(slow)
    else:
        assert fast.labels == slow.labels
        assert np.array_equal(fast.matrix, slow.matrix)


def good_files() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    vectors = Vectors(["a", "b c", "zürich"], rng.standard_normal((3, 4)).astype(np.float32))
    files = {}
    for name in ("w.vec", "w.vec.gz", "w.npz", "w.safetensors", "w.parquet"):
        write_vectors(vectors, FOLDER / name)
        files[name] = (FOLDER / name).read_bytes()
    files["w.vec.bz2"] = bz2.compress(files["w.vec"])
    files["w.vec.xz"] = lzma.compress(files["w.vec"])
    files["w.vec.zst"] = zstandard.ZstdCompressor().compress(files["w.vec"])
    np.save(FOLDER / "w.npy", vectors.matrix)
    files["w.npy"] = (FOLDER / "w.npy").read_bytes()
    np.savez_compressed(FOLDER / "c.npz", words=np.array(vectors.labels), vectors=vectors.matrix)
    files["c.npz"] = (FOLDER / "c.npz").read_bytes()
    rows = [word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip("abc", vectors.matrix, strict=True)]
    files["word2vec.bin"] = b"3 4\n" + b"".join(rows)
    files["fasttext.bin"] = (DATA / "pieces.bin").read_bytes()
    files["fasttext.bin.gz"] = gzip.compress(files["fasttext.bin"])
    return files


GOOD = good_files()


@st.composite
def damaged(draw, content: bytes):
    """Change some bytes, cut, insert, repeat; numbers in headers become large."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "flip", "flip", "cut", "insert", "large", "repeat"]))
        if kind == "flip":
            data[place : place + 1] = bytes([draw(st.integers(0, 255))])
        elif kind == "cut":
            del data[place : place + draw(st.integers(1, len(data) + 1))]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=20))
        elif kind == "large":
            size = draw(st.sampled_from([2, 4, 8]))
            data[place : place + size] = draw(st.sampled_from([b"\xff", b"\x7f", b"9"])) * size
        else:
            data[place:place] = data[place : place + 50]
    return bytes(data)


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_good(name):
    assert isinstance(read(GOOD[name]), Vectors)


@pytest.mark.parametrize("name", GOOD)
@fuzz
@given(data=st.data(), **OPTIONS)
def test_damaged_files(name, data, limit, skip_bad_lines):
    read(data.draw(damaged(GOOD[name])), limit=limit, skip_bad_lines=skip_bad_lines)


@fuzz
@given(content=st.binary(max_size=200) | st.text(alphabet="ab \t\r\n\u00a0é", max_size=100).map(str.encode))
def test_lexicons(content):
    path = FOLDER / "lexicon.txt"
    path.write_bytes(content)
    try:
        pairs = read_lexicon(path)
    except FileFormatError:
        return
    assert pairs
    assert all(source and target for source, target in pairs)


@fuzz
@given(data=st.data())
def test_damaged_maps(data):
    path = FOLDER / "map.safetensors"
    path.write_bytes(data.draw(damaged(a_map())))
    try:
        load_map(path)
    except FileFormatError:
        return


def a_map(_made: dict[str, bytes] = {}) -> bytes:  # noqa: B006 (made once)
    if not _made:
        from damastes.frame import Frame
        from damastes.io import save_map
        from damastes.mapping import Map

        matrix = samples.load("en").matrix[:50, :3]
        frame = Frame().fit(matrix)
        save_map(Map(np.eye(3, dtype=np.float32), frame, frame, {"seed": 0}), FOLDER / "good.safetensors")
        _made["map"] = (FOLDER / "good.safetensors").read_bytes()
    return _made["map"]
