"""Public vectors and lexicons: what there is, and how it comes into a cache directory, also over a bad line."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from damastes._arrays import Progress, no_progress
from damastes.errors import InputError, TransferError
from damastes.io.atomic import atomic_writer

__all__ = ["BASE_URL", "Fetched", "Resource", "cache_directory", "fetch", "resource_named", "resources"]

BASE_URL = "https://dl.fbaipublicfiles.com"

_LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "de": "German", "ru": "Russian"}
_VECTORS = re.compile(r"wiki\.[a-z][a-z_-]{1,11}\.vec")
_LEXICON = re.compile(r"[a-z]{2,3}-[a-z]{2,3}(\.0-5000|\.5000-6500)?\.txt")
_CHUNK = 1 << 20
_ATTEMPTS = 5
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Resource:
    """A public file: its name, where it is below the base address, and what it holds."""

    name: str
    place: str
    about: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file in the cache: where it came from, its size and checksum, and whether it had to be downloaded just now."""

    path: Path
    url: str
    size: int
    sha256: str
    downloaded: bool


def resources() -> list[Resource]:
    """What the paper used. Other languages have names of the same form and can be fetched too."""
    vectors = [resource_named(f"wiki.{code}.vec") for code in _LANGUAGES]
    pairs = [pair for code in _LANGUAGES if code != "en" for pair in (f"en-{code}", f"{code}-en")]
    parts = ("", ".0-5000", ".5000-6500")
    return vectors + [resource_named(f"{pair}{part}.txt") for pair in pairs for part in parts]


def resource_named(name: str) -> Resource:
    """Return the public file of that name."""
    if _VECTORS.fullmatch(name):
        code = name.split(".")[1]
        language = _LANGUAGES.get(code, f"language code {code}")
        return Resource(name, f"fasttext/vectors-wiki/{name}", f"fastText vectors of Wikipedia, {language}")
    if part := _LEXICON.fullmatch(name):
        use = {".0-5000": "for training", ".5000-6500": "for tests"}.get(part[1], "complete")
        return Resource(name, f"arrival/dictionaries/{name}", f"MUSE lexicon, {use}")
    near = get_close_matches(name, [resource.name for resource in resources()], n=3)
    raise InputError(
        f"there is nothing public named {name!r}; expected names like wiki.en.vec or en-es.5000-6500.txt"
        + (f". Near: {', '.join(near)}" if near else "")
    )


def cache_directory() -> Path:
    """Where downloads go: $DAMASTES_CACHE, or the platform's place for caches."""
    if chosen := os.environ.get("DAMASTES_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "damastes"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "damastes" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "damastes"


def fetch(
    name: str,
    *,
    directory: Path | None = None,
    base_url: str = BASE_URL,
    sha256: str | None = None,
    again: bool = False,
    progress: Progress = no_progress,
) -> Fetched:
    """Return a public file from the cache, downloading it first if need be.

    A transfer that stopped goes on where it stopped, now or at the next call. The checksum of the first download is written
    beside the file, and every later call, and a repeated download, has to agree with it.

    Parameters
    ----------
    name : as in `resources`, or of the same form
    directory : the cache; `cache_directory()` unless given
    base_url : the server, for mirrors
    sha256 : the checksum that the file must have, if you know it
    again : download even though the file is there
    progress : called as progress(name, done, total, info) in bytes
    """
    resource = resource_named(name)
    url = f"{base_url.rstrip('/')}/{resource.place}"
    path = (directory or cache_directory()) / name
    record = path.with_name(f"{name}.json")
    wanted = sha256.lower() if sha256 is not None else _recorded(record)
    if path.is_file() and not again:
        found = Fetched(path, url, path.stat().st_size, _hash(path, progress), downloaded=False)
        _compare(found.sha256, wanted, f"{path} has", "Delete it to download it again.")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{name}.part")
        _download(url, part, path, progress)
        found = Fetched(path, url, part.stat().st_size, _hash(part, no_progress), downloaded=True)
        try:
            _compare(found.sha256, wanted, f"what {url} sent has", f"If the newer file is right, delete {record}.")
        except TransferError:
            part.unlink()
            raise
        os.replace(part, path)
        _validator(part).unlink(missing_ok=True)
    if found.downloaded or not record.is_file():
        about = {**asdict(found), "path": name, "recorded": datetime.now(UTC).isoformat(timespec="seconds")}
        del about["downloaded"]
        with atomic_writer(record) as file:
            file.write(json.dumps(about, indent=1).encode())
    return found


def _recorded(record: Path) -> str | None:
    try:
        value = json.loads(record.read_text(encoding="utf-8"))["sha256"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{record}: expected a record of a download, but it is damaged. Delete it.") from None
    return str(value)


def _compare(seen: str, wanted: str | None, what: str, remedy: str) -> None:
    if wanted is not None and seen != wanted:
        raise TransferError(f"{what} the checksum {seen[:12]}…, expected {wanted[:12]}…. {remedy}")


def _hash(path: Path, progress: Progress) -> str:
    digest, size, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
            done += len(block)
            progress("checking", done, size, {})
    return digest.hexdigest()


def _download(url: str, part: Path, path: Path, progress: Progress) -> None:
    """Bring `part` to its full length, in several attempts as long as each of them gets further."""
    for attempt in range(_ATTEMPTS):
        before = part.stat().st_size if part.is_file() else 0
        try:
            total = _transfer(url, part, before, path.name, progress)
        except HTTPError as error:
            error.close()
            if error.code == 404:
                raise InputError(f"{url}: the server has no such file; 'damastes fetch --list' shows names") from None
            raise TransferError(f"{url}: the server answered {error.code} {error.reason}. Try again later.") from None
        except (URLError, HTTPException, OSError) as error:
            if isinstance(error, TransferError):
                raise
            reason = getattr(error, "reason", None) or error
            if _size(part) > before and attempt + 1 < _ATTEMPTS:
                continue
            kept = f" {_size(part):,} bytes are kept, and the next call goes on from there." if _size(part) else ""
            raise TransferError(
                f"can not reach {url} ({reason}). Check the network, or put the file at {path} yourself.{kept}"
            ) from None
        if total is None or _size(part) == total:
            return
        if _size(part) <= before:
            break
    raise TransferError(
        f"{url}: the transfer stopped at {_size(part):,} of {total:,} bytes. Call again to go on from there."
    )


def _transfer(url: str, part: Path, have: int, name: str, progress: Progress) -> int | None:
    """Make one request, for what is missing if the server can; return the full length, if it says."""
    headers = {"User-Agent": f"damastes/{version('damastes')}", "Accept-Encoding": "identity"}
    validator = _validator(part)
    # Without the validator of what we have, the rest could be that of another file.
    if have and validator.is_file():
        headers |= {"Range": f"bytes={have}-", "If-Range": validator.read_text(encoding="utf-8")}
    try:
        answer = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code == 416:  # nothing after what we have: complete, or not the same file any more
            complete = error.headers.get("Content-Range", "").rpartition("/")[2]
            if complete == str(have):
                error.close()
                return have
            part.unlink()
            error.close()
            return _transfer(url, part, 0, name, progress)
        raise
    with answer:
        resumed = answer.status == 206
        if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise TransferError(f"{url}: the server did not send the part that was asked for. Delete {part}.")
        begin = have if resumed else 0
        length = answer.headers.get("Content-Length")
        total = begin + int(length) if length is not None and length.isdecimal() else None
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        with suppress(FileNotFoundError):
            validator.unlink()
        if mark and not mark.startswith("W/"):
            validator.write_text(mark, encoding="utf-8")
        with part.open("ab" if resumed else "wb") as file:
            done = begin
            while block := answer.read(_CHUNK):
                file.write(block)
                done += len(block)
                progress(name, done, total or done, {})
    return total


def _validator(part: Path) -> Path:
    return part.with_name(f"{part.name}.validator")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
