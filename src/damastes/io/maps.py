"""Maps on disk: safetensors with JSON metadata. No pickle; a damaged or foreign file says so."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from damastes._arrays import to_numpy
from damastes.errors import FileFormatError
from damastes.frame import FittedFrame
from damastes.io.atomic import atomic_writer
from damastes.mapping import Map

__all__ = ["load_map", "save_map"]

_FORMAT = "damastes.map"
_VERSION = 1
_FRAME_ARRAYS = ("centre", "stretch", "unstretch")


def save_map(mapping: Map, path: str | PathLike[str]) -> None:
    """Write a map: the arrays as tensors, everything else as JSON."""
    tensors = {"Q": mapping.Q, "metric": mapping.metric}
    for side, frame in (("source", mapping.source_frame), ("target", mapping.target_frame)):
        tensors.update({f"{side}.{name}": getattr(frame, name) for name in _FRAME_ARRAYS})
    arrays = {name: np.ascontiguousarray(to_numpy(array)) for name, array in tensors.items() if array is not None}
    about = {
        "format": _FORMAT,
        "version": _VERSION,
        "source.length": mapping.source_frame.length,
        "target.length": mapping.target_frame.length,
        "made": dict(mapping.made),
    }
    with atomic_writer(path) as file:
        file.write(save(arrays, metadata={"damastes": json.dumps(about)}))


def load_map(path: str | PathLike[str]) -> Map:
    """Read a map that `save_map` wrote, as NumPy arrays; it also maps torch tensors."""
    path = Path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("damastes", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise FileFormatError(
            f"{path}: expected a map in safetensors form, but it is damaged, cut off or something else ({error})"
        ) from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise FileFormatError(
            f"{path}: a safetensors file, but not a map of damastes. Maps are written by Alignment.save."
        )
    if about.get("version") != _VERSION:
        raise FileFormatError(
            f"{path}: expected map version {_VERSION}, got {about.get('version')}. Update damastes to read it."
        )
    return _assemble(path, about, arrays)


def _assemble(path: Path, about: dict[str, Any], arrays: dict[str, Any]) -> Map:
    try:
        Q = arrays["Q"]
        frames = [
            FittedFrame(
                arrays[f"{side}.centre"],
                float(about[f"{side}.length"]),
                arrays.get(f"{side}.stretch"),
                arrays.get(f"{side}.unstretch"),
            )
            for side in ("source", "target")
        ]
        made, metric = about["made"], arrays.get("metric")
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: a map of damastes with a part missing ({error})") from None
    if Q.shape != (frames[0].dimension, frames[1].dimension):
        raise FileFormatError(
            f"{path}: Q is {Q.shape}, but the frames have {frames[0].dimension} and {frames[1].dimension} dimensions"
        )
    if metric is not None and metric.shape != (Q.shape[1], Q.shape[1]):
        raise FileFormatError(f"{path}: the metric is {metric.shape}, but the shared space has {Q.shape[1]} dimensions")
    return Map(Q, frames[0], frames[1], made, metric)
