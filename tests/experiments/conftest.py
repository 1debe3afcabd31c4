from __future__ import annotations

import numpy as np
import pytest

from damastes import samples

N_WORDS = 500


@pytest.fixture(scope="session")
def cut_sample(tmp_path_factory):
    """The sample, cut, as a data folder in the layout of the benchmarks, under the names of en-fr; and one tiny toy."""
    folder = tmp_path_factory.mktemp("data")
    for part in ("vectors", "lexicons", "toy"):
        (folder / part).mkdir()
    en, es = (samples.load(language).head(N_WORDS) for language in ("en", "es"))
    for file, cloud, n in (
        *(("vectors/en.spacy", en, N_WORDS), ("vectors/fr.spacy", es, N_WORDS)),
        *(("toy/base", en, 50), ("toy/seed", en, 60)),
    ):
        np.savez(folder / f"{file}.npz", words=np.array(cloud.labels[:n]), vectors=cloud.matrix[:n])
    pairs = [(a, b) for a, b in samples.lexicon() if a in en and b in es]
    for part, chosen in (("train", pairs[::2]), ("test", pairs[1::2])):
        for way, step in (("en-fr", 1), ("fr-en", -1)):
            lines = (" ".join(pair[::step]) for pair in chosen)
            (folder / f"lexicons/{way}.{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
