"""What a file is, told by its content: names lie more often than first bytes do."""

from __future__ import annotations

from damastes.io.findings import Findings
from damastes.io.numbers import is_number
from damastes.io.text import Header, find_header

__all__ = ["HEAD", "recognize"]

HEAD = 1 << 16
FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
_PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_GENSIM_LOADERS = {
    b"gensim.models.fasttext": "gensim.models.FastText.load({path!r}).wv",
    b"gensim.models.word2vec": "gensim.models.Word2Vec.load({path!r}).wv",
    b"gensim.models.keyedvectors": "gensim.models.KeyedVectors.load({path!r})",
}


def recognize(head: bytes, findings: Findings) -> str:
    """Return the format of a file that begins with `head`: text, word2vec-binary, fasttext, npy, npz, safetensors, parquet."""
    if not head:
        raise findings.fail("", "vectors", "an empty file")
    if head.startswith(_PICKLES):
        raise findings.fail("", "vectors", _pickle(head, findings))
    for magic, name in (
        (b"PK\x03\x04", "npz"),
        (b"\x93NUMPY", "npy"),
        (b"PAR1", "parquet"),
        (FASTTEXT_MAGIC, "fasttext"),
    ):
        if head.startswith(magic):
            return name
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 1 << 32:
        return "safetensors"
    # Binary junk may begin like a header; a text may hold broken words, but no zero bytes.
    header = find_header(head, findings)
    if header is not None and _is_binary(head, header):
        return "word2vec-binary"
    if b"\x00" in head:
        raise findings.fail(
            "",
            "vectors as text, word2vec or fastText binary, npy, npz, safetensors or Parquet",
            f"something else, which begins with {head[:8]!r}",
        )
    return "text"


def _is_binary(head: bytes, header: Header) -> bool:
    """Say whether the numbers after the first word are bytes of float32 rather than digits."""
    line = head[header.length :].split(b"\n", 1)[0]
    fields = line.rsplit(None, header.dimension)
    if len(fields) > header.dimension and all(map(is_number, fields[1:])):
        return False
    start = head.find(b" ", header.length) + 1
    numbers = head[start : start + 4 * header.dimension] if start else b""
    return any(byte < 9 or 13 < byte < 32 for byte in numbers)


def _pickle(head: bytes, findings: Findings) -> str:
    loader = next((code for name, code in _GENSIM_LOADERS.items() if name in head), None)
    if loader is None and b"gensim" not in head:
        return "a pickle, which is a program and not data. Save words and vectors as .npz with numpy.savez"
    code = (loader or _GENSIM_LOADERS[b"gensim.models.keyedvectors"]).format(path=str(findings.path))
    target = str(findings.path.with_suffix(".vec"))
    return f"a pickle of gensim's. Convert it: {code}.save_word2vec_format({target!r})"
