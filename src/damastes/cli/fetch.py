"""`damastes fetch`: public vectors and lexicons, downloaded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from damastes.cli.options import AsJson
from damastes.cli.terminal import print_json, progress_bar, size_text
from damastes.errors import InputError

__all__ = ["fetch"]


def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="What to download.", show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show what there is, and what is in the cache.")] = False,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where downloads are kept.", envvar="DAMASTES_CACHE")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="The checksum that the file must have, if you know it.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Download it even though it is there.")] = False,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="A mirror to download from.", envvar="DAMASTES_BASE_URL")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download public vectors and lexicons, and print where they are.

    These are the fastText vectors and MUSE lexicons that the paper used. A download that was interrupted goes on where it
    stopped. The cache is $DAMASTES_CACHE, or the platform's place for caches.

    Example: damastes fetch wiki.en.vec en-es.5000-6500.txt
    """
    from damastes.io.fetch import BASE_URL, cache_directory, resource_named
    from damastes.io.fetch import fetch as bring

    directory = cache or cache_directory()
    if show:
        _show(directory, as_json)
        return
    if not names:
        raise InputError("there is nothing to fetch: name a file, or see 'damastes fetch --list'")
    if sha256 is not None and len(names) > 1:
        raise InputError(f"--sha256 is the checksum of one file, got {len(names)} names")
    for name in names:
        resource_named(name)  # a wrong name is said before anything is downloaded
    found = []
    for name in names:
        with progress_bar("bytes") as progress:
            found.append(
                bring(
                    name,
                    directory=directory,
                    base_url=base_url or BASE_URL,
                    sha256=sha256,
                    again=again,
                    progress=progress,
                )
            )
        if not as_json:
            state = "downloaded" if found[-1].downloaded else "already there, checksum right"
            typer.echo(f"{name}: {size_text(found[-1].size)}, {state}, sha256 {found[-1].sha256}", err=True)
            typer.echo(str(found[-1].path))
    if as_json:
        values = [
            {
                "name": item.path.name,
                "path": str(item.path),
                "url": item.url,
                "size": item.size,
                "sha256": item.sha256,
                "downloaded": item.downloaded,
            }
            for item in found
        ]
        print_json(values[0] if len(values) == 1 else values)
        return


def _show(directory: Path, as_json: bool) -> None:
    from damastes.io.fetch import resources

    listed = resources()
    if as_json:
        print_json(
            {
                "cache": str(directory),
                "files": [
                    {"name": item.name, "about": item.about, "cached": (directory / item.name).is_file()}
                    for item in listed
                ],
            }
        )
        return
    width = max(len(item.name) for item in listed)
    for item in listed:
        mark = "  (in the cache)" if (directory / item.name).is_file() else ""
        typer.echo(f"{item.name:{width}}  {item.about}{mark}")
    typer.echo(f"\nOther languages have names of the same form. Cache: {directory}")
