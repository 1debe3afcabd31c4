"""`apply` and `convert`: the commands that stream."""

from __future__ import annotations

import signal
import subprocess
import time

import numpy as np
import pytest

from damastes import load_map, read_vectors, samples
from damastes.io import write_vectors


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A text file of words that were aligned and words that were not."""
    path = tmp_path_factory.mktemp("vectors") / "en.vec"
    write_vectors(samples.load("en").head(1000), path)
    return path


def _heed_interrupts():
    """A child of a background job would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class TestApply:
    @pytest.mark.parametrize(
        ("options", "method"),
        [
            ((), "transform"),
            (("--inverse",), "inverse_transform"),
            (("--frame", "shared"), "embed_source"),
            (("--frame", "shared", "--inverse"), "embed_target"),
        ],
    )
    def test_it_is_the_map_on_every_vector(self, call, folder, vectors, tmp_path, options, method):
        done = call("apply", folder / "run", vectors, tmp_path / "out.vec", *options)
        assert done.returncode == 0, done.stderr
        read, written = read_vectors(vectors), read_vectors(tmp_path / "out.vec")
        expected = getattr(load_map(folder / "run" / "map.safetensors"), method)(read.matrix)
        assert written.labels == read.labels
        np.testing.assert_allclose(written.matrix, expected, rtol=1e-5, atol=1e-6)

    def test_many_small_blocks_are_one_large_one(self, call, folder, vectors, tmp_path, monkeypatch):
        call("apply", folder / "run", vectors, tmp_path / "one.npz")
        monkeypatch.setattr("damastes.cli.stream._BLOCK", 7)
        call("apply", folder / "run", vectors, tmp_path / "many.npz")
        one, many = (read_vectors(tmp_path / f"{name}.npz") for name in ("one", "many"))
        assert one.labels == many.labels
        np.testing.assert_allclose(one.matrix, many.matrix, rtol=1e-4, atol=1e-5)

    def test_there_and_back(self, call, folder, vectors, tmp_path):
        call("apply", folder / "run", vectors, tmp_path / "there.npz")
        call("apply", folder / "run", tmp_path / "there.npz", tmp_path / "back.npz", "--inverse")
        np.testing.assert_allclose(
            read_vectors(tmp_path / "back.npz").matrix, read_vectors(vectors).matrix, rtol=1e-2, atol=1e-3
        )

    def test_other_tools_can_read_the_text(self, call, folder, vectors, tmp_path):
        """A line with count and dimension, then words and plain numbers, separated by single blanks."""
        call("apply", folder / "run" / "map.safetensors", vectors, tmp_path / "out.vec", "--limit", 300)
        lines = (tmp_path / "out.vec").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "300 100"
        rows = [line.split(" ") for line in lines[1:]]
        assert [row[0] for row in rows] == samples.load("en").labels[:300]
        assert all(len([float(number) for number in row[1:]]) == 100 for row in rows)

    def test_json(self, call, folder, vectors, tmp_path):
        done = call("apply", folder / "run", vectors, tmp_path / "o.npz", "--frame", "shared", "--limit", 9, "--json")
        assert done.json == {
            "file": str(tmp_path / "o.npz"),
            "n": 9,
            "dimension": 100,
            "frame": "shared",
            "inverse": False,
        }

    def test_in_place(self, call, folder, vectors, tmp_path):
        (tmp_path / "en.vec").write_bytes(vectors.read_bytes())
        assert call("apply", folder / "run", tmp_path / "en.vec", tmp_path / "en.vec").returncode == 0
        assert len(read_vectors(tmp_path / "en.vec")) == 1000

    def test_bad_lines(self, call, folder, vectors, tmp_path):
        lines = vectors.read_text(encoding="utf-8").splitlines()
        (tmp_path / "bad.vec").write_text("\n".join([*lines[:500], "short 1 2 3", *lines[500:]]), encoding="utf-8")
        done = call("apply", folder / "run", tmp_path / "bad.vec", tmp_path / "out.vec")
        assert done.returncode == 2
        assert "bad.vec, line 501" in done.stderr
        assert not list(tmp_path.glob("*out*"))
        done = call("apply", folder / "run", tmp_path / "bad.vec", tmp_path / "out.vec", "--skip-bad-lines")
        assert done.returncode == 0
        assert "1,000 vectors" in done.stdout
        assert "note: " in done.stderr

    def test_bad_input(self, call, folder, vectors, tmp_path):
        (tmp_path / "flat.vec").write_text("2 2\na 1 2\nb 3 4\n")
        done = call("apply", folder / "run", tmp_path / "flat.vec", tmp_path / "out.vec")
        done.assert_one_line_error("flat.vec: expected vectors of 100 numbers", "got 2")
        call("apply", folder / "run", tmp_path / "no.vec", tmp_path / "out.vec").assert_one_line_error("no.vec")
        call("apply", tmp_path / "no.map", vectors, tmp_path / "out.vec").assert_one_line_error("no.map")
        call("apply", tmp_path, vectors, tmp_path / "out.vec").assert_one_line_error("map.safetensors")
        call("apply", folder / "run", vectors, tmp_path / "out.xyz").assert_one_line_error("out.xyz", ".vec")
        assert not list(tmp_path.glob("*out*"))


class TestConvert:
    @pytest.mark.parametrize("name", ["out.vec", "out.vec.gz", "out.npz", "out.safetensors"])
    def test_there_and_back(self, call, vectors, tmp_path, name):
        done = call("convert", vectors, tmp_path / name, "--limit", 200)
        assert done.returncode == 0, done.stderr
        assert call("convert", tmp_path / name, tmp_path / "back.vec").returncode == 0
        assert (tmp_path / "back.vec").read_bytes().splitlines()[1:] == vectors.read_bytes().splitlines()[1:201]
        assert f"{tmp_path / name}: 200 vectors of 100 numbers, " in done.stdout

    def test_json(self, call, vectors, tmp_path):
        done = call("convert", vectors, tmp_path / "out.npz", "--json")
        assert done.json["n"] == 1000
        assert done.json["bytes"] == (tmp_path / "out.npz").stat().st_size


class TestEnds:
    """What is left of a file when the command is stopped while it writes."""

    @pytest.fixture
    def start(self, command, folder, tmp_path):
        rng = np.random.default_rng(0)
        words = [f"word{i}" for i in range(60_000)]
        np.savez(tmp_path / "large.npz", words=np.array(words), vectors=rng.random((60_000, 100), dtype=np.float32))

        def start():
            path, environment = command
            process = subprocess.Popen(
                [path, "apply", folder / "run", tmp_path / "large.npz", tmp_path / "out.vec"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                preexec_fn=_heed_interrupts,
            )
            # The first line of progress is said after the first of several blocks.
            assert process.stderr.readline().startswith("mapping: 60,000")
            return process

        return start

    @pytest.mark.parametrize("old", [None, "old"])
    def test_killed(self, start, tmp_path, old):
        if old is not None:
            (tmp_path / "out.vec").write_text(old)
        process = start()
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "out.vec").exists() == (old is not None)
        if old is not None:
            assert (tmp_path / "out.vec").read_text() == old

    @pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_interrupted(self, start, tmp_path, sign, status):
        process = start()
        process.send_signal(sign)
        out, err = process.communicate(timeout=30)
        assert process.returncode == status
        assert out == ""
        assert err == ("damastes: interrupted\n" if sign == signal.SIGINT else "")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["large.npz"]


def test_an_interrupted_align_leaves_nothing(command, folder, tmp_path):
    path, environment = command
    process = subprocess.Popen(
        [path, "align", folder / "en.npz", folder / "es.npz", "-o", tmp_path / "run"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=_heed_interrupts,
    )
    assert process.stderr.readline().startswith("convex start")
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1].splitlines()[-1] == "damastes: interrupted"
    assert process.returncode == 130
    assert not (tmp_path / "run").exists()
