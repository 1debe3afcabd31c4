"""Downloads, against a server of our own that can be told to misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from damastes.errors import InputError, TransferError
from damastes.io.fetch import cache_directory, fetch, resource_named, resources

NAME = "en-es.txt"
PLACE = "/arrival/dictionaries/en-es.txt"
CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `files`; stops after `stop_after` bytes of a body (as often as `stops` says); may ignore ranges."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {PLACE: CONTENT}
        self.tag = '"one"'
        self.stop_after, self.stops = 0, 0
        self.ranges = True
        self.status = 200
        self.seen = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.seen.append(self.headers.get("Range"))
        body = server.files.get(self.path)
        if body is None or server.status != 200:
            self.send_error(404 if body is None else server.status)
            return
        begin = 0
        wanted = self.headers.get("Range")
        if wanted and server.ranges and self.headers.get("If-Range") in (None, server.tag):
            begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - begin))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        part = body[begin:]
        if server.stops:
            server.stops -= 1
            part = part[: server.stop_after]
            self.close_connection = True
        self.wfile.write(part)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def bring(server, tmp_path):
    def bring(name=NAME, **options):
        return fetch(name, directory=tmp_path, base_url=server.url, **options)

    return bring


def files(folder):
    return sorted(path.name for path in folder.iterdir())


class TestDownload:
    def test_the_first_time(self, bring, server, tmp_path):
        steps = []
        found = bring(progress=lambda *step: steps.append(step))
        assert found.path == tmp_path / NAME
        assert found.path.read_bytes() == CONTENT
        assert (found.size, found.sha256, found.downloaded) == (len(CONTENT), SHA256, True)
        assert found.url == server.url + PLACE
        assert steps[-1][:3] == (NAME, len(CONTENT), len(CONTENT))
        assert files(tmp_path) == [NAME, f"{NAME}.json"]
        assert json.loads((tmp_path / f"{NAME}.json").read_text())["sha256"] == SHA256

    def test_the_second_time_nothing_is_asked_of_the_server(self, bring, server):
        bring()
        found = bring()
        assert (found.sha256, found.downloaded) == (SHA256, False)
        assert len(server.seen) == 1

    def test_again(self, bring, server):
        bring()
        assert bring(again=True).downloaded
        assert len(server.seen) == 2


class TestResume:
    def test_a_line_that_breaks_twice(self, bring, server):
        server.stop_after, server.stops = 100_000, 2
        assert bring().path.read_bytes() == CONTENT
        assert server.seen == [None, "bytes=100000-", "bytes=200000-"]

    def test_what_arrived_is_kept_for_the_next_call(self, bring, server, tmp_path):
        server.stop_after, server.stops = 20_000, 5
        with pytest.raises(TransferError, match=r"stopped at 100,000 of 300,000 bytes\. Call again"):
            bring()
        assert files(tmp_path) == [f"{NAME}.part", f"{NAME}.part.validator"]
        server.seen.clear()
        assert bring().sha256 == SHA256
        assert server.seen == ["bytes=100000-"]
        assert files(tmp_path) == [NAME, f"{NAME}.json"]

    def test_no_progress_at_all_ends_at_once(self, bring, server):
        server.stop_after, server.stops = 0, 10
        with pytest.raises(TransferError, match="stopped at 0 of 300,000"):
            bring()
        assert len(server.seen) == 1

    def test_a_server_without_ranges_sends_everything_again(self, bring, server):
        server.ranges = False
        server.stop_after, server.stops = 1000, 1
        assert bring().path.read_bytes() == CONTENT

    def test_without_a_tag_the_rest_might_be_of_another_file(self, bring, server):
        server.tag = None
        server.stop_after, server.stops = 1000, 1
        assert bring().path.read_bytes() == CONTENT
        assert server.seen == [None, None]

    def test_a_file_that_changed_in_between_is_not_spliced(self, bring, server):
        server.stop_after, server.stops = 60_000, 5
        server.files[PLACE] = CONTENT * 2
        with pytest.raises(TransferError):
            bring()
        server.files[PLACE], server.tag = CONTENT[::-1], '"two"'
        assert bring().path.read_bytes() == CONTENT[::-1]

    def test_everything_had_arrived(self, bring, server, tmp_path):
        (tmp_path / f"{NAME}.part").write_bytes(CONTENT)
        (tmp_path / f"{NAME}.part.validator").write_text('"one"')
        assert bring().sha256 == SHA256
        assert server.seen == [f"bytes={len(CONTENT)}-"]

    def test_more_than_everything_starts_over(self, bring, server, tmp_path):
        (tmp_path / f"{NAME}.part").write_bytes(CONTENT + b"x")
        (tmp_path / f"{NAME}.part.validator").write_text('"one"')
        assert bring().path.read_bytes() == CONTENT


class TestChecksums:
    def test_a_known_one(self, bring, tmp_path):
        assert bring(sha256=SHA256.upper()).sha256 == SHA256

    def test_a_wrong_one_leaves_nothing(self, bring, tmp_path):
        with pytest.raises(TransferError, match="expected 000000000000…"):
            bring(sha256="0" * 64)
        assert NAME not in files(tmp_path)
        assert f"{NAME}.part" not in files(tmp_path)

    def test_a_file_that_changed_on_disk(self, bring, tmp_path):
        bring()
        (tmp_path / NAME).write_bytes(CONTENT[:-1])
        with pytest.raises(TransferError, match="Delete it to download it again"):
            bring()

    def test_a_file_that_changed_on_the_server(self, bring, server, tmp_path):
        bring()
        server.files[PLACE], server.tag = CONTENT[::-1], '"two"'
        with pytest.raises(TransferError, match=f"If the newer file is right, delete .*{NAME}.json"):
            bring(again=True)
        assert (tmp_path / NAME).read_bytes() == CONTENT

    def test_a_file_that_somebody_put_there(self, bring, server, tmp_path):
        (tmp_path / NAME).write_bytes(b"own")
        assert not bring().downloaded
        assert not server.seen
        assert json.loads((tmp_path / f"{NAME}.json").read_text())["sha256"] == hashlib.sha256(b"own").hexdigest()

    def test_a_damaged_record(self, bring, tmp_path):
        (tmp_path / f"{NAME}.json").write_text("{")
        with pytest.raises(InputError, match=r"damaged\. Delete it"):
            bring()


class TestFailures:
    def test_not_on_the_server(self, bring, tmp_path):
        with pytest.raises(InputError, match=r"en-fr\.txt: the server has no such file"):
            bring("en-fr.txt")
        assert not files(tmp_path)

    def test_the_server_has_a_bad_day(self, bring, server):
        server.status = 503
        with pytest.raises(TransferError, match=r"answered 503 .*Try again later"):
            bring()

    def test_no_network(self, tmp_path):
        with pytest.raises(TransferError, match=r"can not reach .*Check the network, or put the file at .*en-es\.txt"):
            fetch(NAME, directory=tmp_path, base_url="http://127.0.0.1:9")
        assert not files(tmp_path)

    def test_interrupted(self, bring, server, tmp_path):
        def stop(*_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bring(progress=stop)
        assert NAME not in files(tmp_path)
        assert bring().sha256 == SHA256


class TestNames:
    def test_what_the_paper_used(self):
        names = [resource.name for resource in resources()]
        assert {"wiki.en.vec", "wiki.ru.vec", "en-es.txt", "ru-en.5000-6500.txt"} <= set(names)
        assert len(names) == len(set(names)) == 5 + 8 * 3
        assert resource_named("wiki.en.vec").place == "fasttext/vectors-wiki/wiki.en.vec"

    @pytest.mark.parametrize("name", ["wiki.fi.vec", "wiki.zh_yue.vec", "it-pt.txt", "en-fi.0-5000.txt"])
    def test_other_languages(self, name):
        assert resource_named(name).place.endswith(name)

    @pytest.mark.parametrize("name", ["wiki.en", "../wiki.en.vec", "en-es.json", "", "wiki.en.vec/../x"])
    def test_others_are_refused(self, name):
        with pytest.raises(InputError, match="nothing public named"):
            resource_named(name)

    def test_near_names_are_suggested(self):
        with pytest.raises(InputError, match=r"Near: wiki\.en\.vec"):
            resource_named("wiki.en.ve")

    @pytest.mark.parametrize(
        ("platform", "variables", "expected"),
        [
            ("linux", {"DAMASTES_CACHE": "/elsewhere"}, "/elsewhere"),
            ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/damastes"),
            ("linux", {"HOME": "/home/me"}, "/home/me/.cache/damastes"),
            ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/damastes"),
            ("win32", {"LOCALAPPDATA": "/local"}, "/local/damastes/Cache"),
        ],
    )
    def test_the_cache_is_where_the_platform_has_them(self, monkeypatch, platform, variables, expected):
        for name in ("DAMASTES_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("damastes.io.fetch.sys.platform", platform)
        assert cache_directory().as_posix() == expected
