from __future__ import annotations

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from damastes import Frame, Map, load_map
from damastes.errors import FileFormatError
from damastes.io import save_map
from planted import cloud, orthogonal


def make(rng, dtype="float64", power=1.0, convert=np.asarray):
    frames = [Frame(power=power).fit(convert(cloud(40, d, rng).astype(dtype) + 0.2)) for d in (4, 3)]
    made = {"recipe": "default", "seed": 3, "words": ["zürich", "年"], "nested": {"x": 0.1}}
    return Map(convert(orthogonal(4, 3, rng).astype(dtype)), *frames, made)


def tampered(path, *, about=None, drop=(), change=None):
    """Write the file again, with other metadata or other tensors, or without some."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        kept = json.loads(json.loads(file.read(size))["__metadata__"]["damastes"])
    tensors = {name: array for name, array in load_file(path).items() if name not in drop}
    save_file({**tensors, **(change or {})}, path, metadata={"damastes": json.dumps({**kept, **(about or {})})})


@pytest.fixture
def saved(rng, tmp_path):
    path = tmp_path / "map.safetensors"
    save_map(make(rng), path)
    return path


class TestRoundTrip:
    @pytest.mark.parametrize("power", [1.0, 0.5])
    def test_every_bit_comes_back(self, tmp_path, rng, dtype, power):
        mapping = make(rng, dtype, power)
        save_map(mapping, tmp_path / "map.safetensors")
        loaded = load_map(tmp_path / "map.safetensors")
        assert loaded.Q.dtype == dtype
        assert np.array_equal(loaded.Q, mapping.Q)
        assert loaded.made == mapping.made
        points = cloud(10, 4, rng).astype(dtype)
        for method in ("transform", "embed_source"):
            assert np.array_equal(getattr(loaded, method)(points), getattr(mapping, method)(points))
        back = cloud(10, 3, rng).astype(dtype)
        assert np.array_equal(loaded.inverse_transform(back), mapping.inverse_transform(back))

    def test_maps_of_torch_come_back_and_map_torch(self, tmp_path, rng, dtype):
        torch = pytest.importorskip("torch")
        mapping = make(rng, dtype, 0.5, convert=torch.from_numpy)
        save_map(mapping, tmp_path / "map.safetensors")
        loaded = load_map(tmp_path / "map.safetensors")
        assert np.array_equal(loaded.Q, mapping.Q.numpy())
        points = torch.from_numpy(cloud(10, 4, rng).astype(dtype))
        mapped = loaded.transform(points)
        assert mapped.dtype == points.dtype
        assert torch.equal(mapped, mapping.transform(points))

    def test_a_metric_comes_back(self, tmp_path, rng, asarray, dtype):
        plain = make(rng)
        weights = rng.standard_normal((3, 3))
        metric = asarray(weights @ weights.T, dtype)
        save_map(Map(plain.Q, plain.source_frame, plain.target_frame, plain.made, metric), tmp_path / "map.safetensors")
        loaded = load_map(tmp_path / "map.safetensors")
        assert loaded.metric.dtype == dtype
        assert np.array_equal(loaded.metric, np.from_dlpack(metric))
        points = cloud(10, 3, rng)
        expected = plain.embed_target(points) @ np.from_dlpack(metric)
        expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(loaded.embed_target(points), expected, atol=1e-12)
        assert not np.allclose(expected, plain.embed_target(points), atol=1e-2)

    def test_a_ridge_comes_back(self, tmp_path, rng):
        points = cloud(40, 4, rng) + 0.2
        frame = Frame(ridge=1.5).fit(points)
        save_map(Map(np.eye(4), frame, frame), tmp_path / "map.safetensors")
        loaded = load_map(tmp_path / "map.safetensors")
        assert np.array_equal(loaded.source_frame(points), frame(points))
        np.testing.assert_allclose(loaded.transform(points), points, atol=1e-9)

    def test_a_map_without_a_metric_has_none(self, saved):
        assert "metric" not in load_file(saved)
        assert load_map(saved).metric is None

    def test_q_need_not_be_contiguous(self, tmp_path, rng):
        mapping = make(rng)
        mapping = Map(np.asfortranarray(mapping.Q), mapping.source_frame, mapping.target_frame)
        save_map(mapping, tmp_path / "map.safetensors")
        assert np.array_equal(load_map(tmp_path / "map.safetensors").Q, mapping.Q)


def test_a_failing_write_leaves_the_old_map(saved, rng, monkeypatch):
    before = saved.read_bytes()

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_map(make(rng), saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


class TestBadFiles:
    def test_none(self, tmp_path):
        with pytest.raises(FileFormatError, match=r"nowhere\.safetensors: there is no such file"):
            load_map(tmp_path / "nowhere.safetensors")

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
    def test_cut_off(self, saved, share):
        content = saved.read_bytes()
        saved.write_bytes(content[: int(share * len(content))])
        with pytest.raises(FileFormatError, match="damaged, cut off or something else"):
            load_map(saved)

    def test_something_else(self, saved):
        saved.write_text("2 3\nword 1 2 3\n" * 10)
        with pytest.raises(FileFormatError, match="expected a map in safetensors form"):
            load_map(saved)

    def test_safetensors_of_others(self, saved):
        for metadata in (None, {"format": "pt"}, {"damastes": "[]"}, {"damastes": '{"format": "other"}'}):
            save_file({"Q": np.eye(2)}, saved, metadata=metadata)
            with pytest.raises(FileFormatError, match=r"not a map of damastes\. Maps are written by Alignment\.save"):
                load_map(saved)

    def test_another_version(self, saved):
        tampered(saved, about={"version": 2})
        with pytest.raises(FileFormatError, match=r"expected map version 1, got 2\. Update damastes"):
            load_map(saved)

    @pytest.mark.parametrize("name", ["Q", "source.centre", "target.centre"])
    def test_a_missing_tensor(self, saved, name):
        tampered(saved, drop=[name])
        with pytest.raises(FileFormatError, match=f"a part missing .*{name}"):
            load_map(saved)

    def test_a_q_that_does_not_fit_the_frames(self, saved):
        tensors = load_file(saved)
        tampered(saved)
        with saved.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            metadata = json.loads(file.read(size))["__metadata__"]
        save_file({**tensors, "Q": np.eye(4)}, saved, metadata=metadata)
        with pytest.raises(FileFormatError, match=r"Q is \(4, 4\), but the frames have 4 and 3 dimensions"):
            load_map(saved)

    @pytest.mark.parametrize("shape", [(4, 4), (3,), (3, 4), (1, 3, 3)])
    def test_a_metric_that_does_not_fit_the_shared_space(self, saved, shape):
        tampered(saved, change={"metric": np.ones(shape)})
        with pytest.raises(FileFormatError, match=rf"metric is \({str(shape)[1:-1]}\), but the shared space has 3 dim"):
            load_map(saved)

    def test_all_of_them_are_value_errors(self):
        assert issubclass(FileFormatError, ValueError)
