"""Files from front to back, whatever they are compressed with: gzip, bzip2, xz, zstandard, or a zip of one file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from damastes.errors import FileFormatError, MissingExtraError

__all__ = ["DAMAGE", "Stream", "compression_of", "compressor"]

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
}
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard"}
# What the modules of Python raise at damaged archives.
DAMAGE: tuple[type[BaseException], ...] = (
    *(OSError, EOFError, ValueError, KeyError, NotImplementedError, RuntimeError, OverflowError, MemoryError),
    *(struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)
# Never more at once than this, whatever a header promises.
_CHUNK = 1 << 20


class Stream:
    """A file, decompressed, read once from front to back; its beginning can be looked at first.

    Whatever goes wrong below becomes a `FileFormatError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self._ahead = b""
        self._damage = DAMAGE
        if not path.is_file():
            raise FileFormatError(f"{path}: there is no such file")
        try:
            self._raw: IO[bytes] = path.open("rb", buffering=0)
        except OSError as error:
            raise FileFormatError(f"{path}: can not be opened ({error.strerror})") from None
        self._file: IO[bytes] = self._raw
        self.compression: str | None = None
        try:
            self._decompress()
        except BaseException:
            self._raw.close()
            raise

    def _decompress(self) -> None:
        head = self._raw.read(10)
        self._raw.seek(0)
        compression = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
        if compression == "bzip2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
            compression = None  # a word that begins with BZh
        if compression == "zip":
            self._open_zip()
        elif compression is not None:
            self._file = _decompressor(compression)(self._raw)
            self.compression = compression
            if compression == "zstandard":
                self._damage += (_zstandard_error(),)

    def _open_zip(self) -> None:
        """Open the only file of an archive; an archive of arrays stays as it is."""
        try:
            archive = zipfile.ZipFile(self._raw)
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) == 1 and not names[0].endswith(".npy"):
                self._file = archive.open(names[0])
                self.compression = "zip"
                return
        except self._damage:
            pass  # the reader of arrays says what is wrong with it
        self._raw.seek(0)

    @property
    def size(self) -> int | None:
        """The number of bytes; None when only reading to the end would tell."""
        return None if self.compression else self.path.stat().st_size

    def peek(self, n: int) -> bytes:
        """Return up to n bytes from here without moving on."""
        while len(self._ahead) < n and (chunk := self._read_some(n - len(self._ahead))):
            self._ahead += chunk
        return self._ahead[:n]

    def read(self, n: int) -> bytes:
        """Return the next n bytes, fewer only at the end of the file."""
        parts, self._ahead = [self._ahead[:n]], self._ahead[n:]
        missing = n - len(parts[0])
        while missing and (chunk := self._read_some(missing)):
            parts.append(chunk)
            missing -= len(chunk)
        self.offset += n - missing
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def unread(self, data: bytes) -> None:
        """Give back the bytes that were read last."""
        self._ahead = data + self._ahead
        self.offset -= len(data)

    def _read_some(self, n: int) -> bytes:
        try:
            return self._file.read(min(n, _CHUNK))
        except self._damage as error:
            raise FileFormatError(
                f"{self.path}: expected {self.compression or 'a readable file'}, but it is damaged or cut off "
                f"after {self.offset + len(self._ahead)} bytes of content ({error})"
            ) from None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not self._raw:
            self._file.close()
        self._raw.close()


def compression_of(path: Path) -> str | None:
    """Return the compression that a file name asks for."""
    return _SUFFIXES.get(path.suffix.lower())


def compressor(compression: str | None, file: IO[bytes]) -> IO[bytes]:
    """Return a file that compresses into `file`; closing it leaves `file` open."""
    if compression is None:
        raise AssertionError("a file without compression is written directly")
    if compression == "gzip":
        # No name and no time in it: equal vectors give equal files.
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)  # type: ignore[return-value]
    if compression == "bzip2":
        return bz2.BZ2File(file, "wb")
    if compression == "xz":
        return lzma.LZMAFile(file, "wb")
    module = _zstandard()
    if hasattr(module, "ZstdFile"):
        return module.ZstdFile(file, "wb")  # type: ignore[no-any-return]
    return module.ZstdCompressor().stream_writer(file, closefd=False)  # type: ignore[no-any-return]


def _decompressor(compression: str) -> Callable[[IO[bytes]], Any]:
    if compression == "gzip":
        return lambda file: gzip.GzipFile(fileobj=file, mode="rb")
    if compression == "bzip2":
        return lambda file: bz2.BZ2File(file, "rb")
    if compression == "xz":
        return lambda file: lzma.LZMAFile(file, "rb")
    module = _zstandard()
    if hasattr(module, "ZstdFile"):
        return lambda file: module.ZstdFile(file, "rb")
    return lambda file: _ZstandardFile(module, file)


class _ZstandardFile:
    """Reads zstandard with the extra, whose own reader takes a file that is cut off for one that ends."""

    # A byte can stand for 32 kB: so little at once that even a bomb stays small.
    _BYTES_AT_ONCE = 2048

    def __init__(self, module: Any, file: IO[bytes]) -> None:
        self._decompressor = module.ZstdDecompressor()
        self._file = file
        self._frame: Any = None
        self._waiting = b""

    def read(self, n: int) -> bytes:
        parts = [self._waiting]
        missing = n - len(self._waiting)
        while missing > 0 and (part := self._more()) is not None:
            parts.append(part)
            missing -= len(part)
        data = b"".join(parts)
        self._waiting = data[n:]
        return data[:n]

    def _more(self) -> bytes | None:
        """Return what a few more bytes decompress to, None at the end."""
        rest = b"" if self._frame is None or not self._frame.eof else self._frame.unused_data
        compressed = rest or self._file.read(self._BYTES_AT_ONCE)
        if not compressed:
            if self._frame is not None and not self._frame.eof:
                raise EOFError("the compressed data end too early")
            return None
        if self._frame is None or self._frame.eof:
            self._frame = self._decompressor.decompressobj()
        part: bytes = self._frame.decompress(compressed)
        return part

    def close(self) -> None:
        """Leave the file below open, as the other decompressors do."""


def _zstandard() -> Any:
    """Return the module that knows zstandard: Python's own from 3.14, else the extra."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard
    except ImportError:
        raise MissingExtraError(".zst files need zstandard: pip install 'damastes[io]'") from None


def _zstandard_error() -> type[BaseException]:
    error: type[BaseException] = _zstandard().ZstdError
    return error
