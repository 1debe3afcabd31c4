from __future__ import annotations

import functools
import hashlib
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

TEXT = b"house casa\nwater agua\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """A plain file server, as a mirror in somebody's house would be."""
    folder = tmp_path_factory.mktemp("mirror")
    (folder / "arrival" / "dictionaries").mkdir(parents=True)
    (folder / "arrival" / "dictionaries" / "en-es.txt").write_bytes(TEXT)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def fetch(call, mirror, tmp_path):
    def fetch(*arguments):
        return call("fetch", *arguments, "--cache", tmp_path / "cache", "--base-url", mirror)

    return fetch


def test_prints_the_path_and_nothing_else_on_standard_output(fetch, tmp_path):
    done = fetch("en-es.txt")
    assert done.returncode == 0
    assert done.stdout == f"{tmp_path / 'cache' / 'en-es.txt'}\n"
    assert (tmp_path / "cache" / "en-es.txt").read_bytes() == TEXT
    assert f"downloaded, sha256 {hashlib.sha256(TEXT).hexdigest()}" in done.stderr
    assert "already there, checksum right" in fetch("en-es.txt").stderr


def test_json(fetch, tmp_path, mirror):
    done = fetch("en-es.txt", "--json")
    assert done.json == {
        "name": "en-es.txt",
        "path": str(tmp_path / "cache" / "en-es.txt"),
        "url": f"{mirror}/arrival/dictionaries/en-es.txt",
        "size": len(TEXT),
        "sha256": hashlib.sha256(TEXT).hexdigest(),
        "downloaded": True,
    }


def test_the_list_says_what_is_there(fetch, tmp_path):
    fetch("en-es.txt")
    done = fetch("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if "(in the cache)" in line] == ["en-es.txt"]
    files = fetch("--list", "--json").json["files"]
    assert [entry["name"] for entry in files if entry["cached"]] == ["en-es.txt"]


def test_errors(call, fetch, tmp_path):
    fetch("en-xx.text").assert_one_line_error("nothing public named 'en-xx.text'")
    fetch("en-fr.txt").assert_one_line_error("the server has no such file")
    fetch().assert_one_line_error("--list")
    fetch("en-es.txt", "en-fr.txt", "--sha256", "0").assert_one_line_error("--sha256")
    wrong = fetch("en-es.txt", "--sha256", "0" * 64)
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines()[-1].startswith("damastes: what http")
    assert not (tmp_path / "cache" / "en-es.txt").exists()
    nobody = call("fetch", "en-es.txt", "--cache", tmp_path, "--base-url", "http://127.0.0.1:9")
    nobody.assert_one_line_error("can not reach", "Check the network", status=1)
