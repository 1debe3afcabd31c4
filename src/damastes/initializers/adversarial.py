"""Adversarial training of a linear map (Conneau et al., 2018, "Word translation without parallel data")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from damastes._arrays import Array, Progress, from_numpy, head_rows, no_progress, take_rows, to_numpy, unit_rows
from damastes.errors import InputError, MissingExtraError
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.retrieval import CSLS, Cosines, mutual_pairs
from damastes.spectrum import principal_coordinates

__all__ = ["Adversarial"]

_LEAK = 0.2
# Learning rates mean something at one scale of the input only.
_LENGTH = 2.8
_PROGRESS_EVERY = 100


@dataclass(frozen=True, slots=True)
class Adversarial:
    """Train a linear map W until a discriminator cannot tell mapped source points from target points.

    The discriminator is a network with two hidden layers of leaky rectifiers, fed with dropout and trained on smoothed
    labels; W follows it by the gradient of the same loss with the labels exchanged, and by W ← (1 + β)W − βWWᵀW, which keeps
    it nearly orthogonal. After every epoch the mean cosine of the first source points to their CSLS translations, which
    needs no labels, says how good W is: the best W is kept, and its learning rate is halved when the criterion falls again.
    Training is unstable: it is begun several times, and the criterion tells which to believe.

    The original trains in all dimensions, five steps of the discriminator for one of W, with hidden layers of 2,048, for half a
    day of a CPU. With less, on clouds of 20,000 points and 300 dimensions, the discriminator learns to know the points faster
    than W can follow. In the leading principal directions, step for step and with a faster W, they keep pace, and a minute is
    enough for spaces that are alike; the words that choose each other there give the map in all dimensions, by Procrustes.
    A loss that stays well below log 2 says that the sides can still be told apart.

    W starts from a random orthogonal matrix and not from I, because coordinates of two spaces have nothing to do with each
    other. Known pairs are left to the solvers. Needs torch; tensors stay on their device.

    Parameters
    ----------
    n_directions : leading principal directions to train in
    n_restarts : how often to begin anew
    n_epochs, epoch_size, batch_size : epochs of epoch_size source points, in batches
    hidden : units of each hidden layer
    n_points : train on the first so many points of each side
    n_criterion : the criterion looks at the first so many
    n_steps : steps of the discriminator for one of W
    learning_rate, map_rate, decay : of the discriminator, of W at first, and the factor for W's after every epoch
    beta : of the orthogonality update
    dropout, smoothing : share of inputs that the discriminator does not see, and of each label given to the other
    """

    n_directions: int = 30
    n_restarts: int = 3
    n_epochs: int = 5
    epoch_size: int = 130_000
    batch_size: int = 32
    hidden: int = 256
    n_points: int = 75_000
    n_criterion: int = 10_000
    n_steps: int = 1
    learning_rate: float = 0.1
    map_rate: float = 0.5
    decay: float = 0.98
    beta: float = 0.03
    dropout: float = 0.1
    smoothing: float = 0.1

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; the evidence has the criterion and the discriminator's loss after every epoch of every restart."""
        self._check()
        torch = _torch()
        heads = [head_rows(Z, self.n_points) for Z in (X, Y)]
        k = min(self.n_directions, X.shape[1], Y.shape[1])
        clouds = [_tensor(from_numpy(_LENGTH * principal_coordinates(to_numpy(Z), k), Z), torch) for Z in heads]
        # Drawn from its own generator: torch's global state is the caller's.
        generator = torch.Generator(device=clouds[0].device).manual_seed(int(rng.integers(2**63)))
        runs = []
        with _one_thread(torch):
            for restart in range(self.n_restarts):
                W = _tensor(polar(rng.standard_normal((k, k))), torch).to(clouds[0].device)
                runs.append(self._train(clouds, W, generator, _part(progress, restart, self.n_restarts), torch))
        best = max(runs, key=lambda run: run.criterion)
        evidence = {
            "criterion": best.criterion,
            "criteria": [run.criteria for run in runs],
            "losses": [run.losses for run in runs],
        }
        return Start(self._in_all_dimensions(heads, clouds, best.W), evidence)

    def _train(self, clouds: list[Any], W: Any, generator: Any, progress: Progress, torch: Any) -> _Run:
        """One restart from W."""
        run = _Run(W)
        weights = _network(clouds[1].shape[1], self.hidden, generator, torch)
        n_batches = max(1, self.epoch_size // self.batch_size)
        rate, fell = self.map_rate, False
        for epoch in range(self.n_epochs):
            total = 0.0
            for batch in range(n_batches):
                for _ in range(self.n_steps):
                    total += self._discriminate(clouds, W, weights, generator, torch)
                W = self._fool(clouds, W, weights, rate, generator, torch)
                done = epoch * n_batches + batch + 1
                if done % _PROGRESS_EVERY == 0 or done == self.n_epochs * n_batches:
                    info = {"loss": total / ((batch + 1) * self.n_steps)} | (
                        {"criterion": run.criterion} if run.criteria else {}
                    )
                    progress("adversarial", done, self.n_epochs * n_batches, info)
            rate *= self.decay
            if not run.add(W, self._criterion(clouds, W), total / (n_batches * self.n_steps)):
                # One fall is forgiven.
                rate, fell = (rate / 2 if fell else rate), True
        return run

    def _in_all_dimensions(self, heads: list[Array], clouds: list[Any], W: Any) -> Array:
        """The map of X to Y by the first points that choose each other under W."""
        source, target = (head_rows(Z, self.n_criterion) for Z in clouds)
        cosines = Cosines(unit_rows(source @ W), unit_rows(target))
        chosen = mutual_pairs(cosines, CSLS().biases(cosines))
        X, Y = (take_rows(Z, rows) for Z, rows in zip(heads, (chosen.source, chosen.target), strict=True))
        return polar(X.T @ Y / max(len(chosen), 1))

    def _batch(self, clouds: list[Any], W: Any, generator: Any, torch: Any) -> tuple[Any, Any]:
        """Mapped source points, then target points; and the smoothed labels, high for the source."""
        size = (self.batch_size,)
        rows = [torch.randint(len(Z), size, generator=generator, device=Z.device) for Z in clouds]
        points = torch.cat([clouds[0][rows[0]] @ W, clouds[1][rows[1]]])
        labels = torch.full((2 * self.batch_size,), self.smoothing, device=points.device)
        labels[: self.batch_size] = 1 - self.smoothing
        return points, labels

    def _discriminate(self, clouds: list[Any], W: Any, weights: list[Any], generator: Any, torch: Any) -> float:
        """One step of the discriminator; returns its loss."""
        points, labels = self._batch(clouds, W, generator, torch)
        if self.dropout:
            seen = torch.rand(points.shape, generator=generator, device=points.device) >= self.dropout
            points = points * seen / (1 - self.dropout)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(_logits(points, weights, torch), labels)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= self.learning_rate * gradient
        return float(loss.detach())

    def _fool(self, clouds: list[Any], W: Any, weights: list[Any], rate: float, generator: Any, torch: Any) -> Any:
        """One step of W against the discriminator, and one towards the orthogonal matrices."""
        W = W.detach().requires_grad_()
        points, labels = self._batch(clouds, W, generator, torch)
        fixed = [weight.detach() for weight in weights]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(_logits(points, fixed, torch), 1 - labels)
        (gradient,) = torch.autograd.grad(loss, W)
        W = W.detach() - rate * gradient
        return (1 + self.beta) * W - self.beta * W @ (W.T @ W)

    def _criterion(self, clouds: list[Any], W: Any) -> float:
        """The mean cosine of the first source points to their CSLS translations."""
        source, target = (head_rows(Z, self.n_criterion) for Z in clouds)
        mapped, target = unit_rows(source @ W), unit_rows(target)
        chosen = CSLS()(mapped, target).indices[:, 0]
        return float((mapped * take_rows(target, chosen)).sum(1).mean())

    def _check(self) -> None:
        counts = ("n_epochs", "epoch_size", "batch_size", "hidden", "n_points", "n_criterion", "n_steps")
        for name in ("n_directions", "n_restarts", *counts):
            if getattr(self, name) < 1:
                raise InputError(f"Adversarial needs {name} of 1 or more, got {getattr(self, name)}")
        if not (self.learning_rate > 0 and self.map_rate > 0 and 0 < self.decay <= 1 and 0 <= self.beta < 0.5):
            raise InputError(
                "Adversarial needs learning_rate and map_rate above 0, decay in (0, 1] and beta in [0, 0.5), got "
                f"{self.learning_rate}, {self.map_rate}, {self.decay}, {self.beta}"
            )
        if not (0 <= self.dropout < 1 and 0 <= self.smoothing < 0.5):
            raise InputError(
                f"Adversarial needs dropout in [0, 1) and smoothing in [0, 0.5), got {self.dropout}, {self.smoothing}"
            )


@dataclass(slots=True)
class _Run:
    """What one restart came to: its best map so far, and criterion and loss after every epoch."""

    W: Any
    criteria: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    @property
    def criterion(self) -> float:
        return max(self.criteria)

    def add(self, W: Any, criterion: float, loss: float) -> bool:
        """Note an epoch; say whether its map is the best so far."""
        best = criterion > max(self.criteria, default=-np.inf)
        self.W = W if best else self.W
        self.criteria.append(criterion)
        self.losses.append(loss)
        return best


def _part(progress: Progress, part: int, n_parts: int) -> Progress:
    """The progress of one part of a whole whose parts take as many steps."""
    return lambda stage, done, total, info: progress(stage, part * total + done, n_parts * total, info)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("Adversarial() needs torch: pip install 'damastes[torch]'") from None
    return torch


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Batches are so small that several threads mostly wait for each other; beside other work, a hundred times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _tensor(points: Array, torch: Any) -> Any:
    if is_torch_array(points):
        return points.detach().to(torch.float32)
    return torch.from_numpy(np.array(to_numpy(points), dtype=np.float32))


def _network(d: int, hidden: int, generator: Any, torch: Any) -> list[Any]:
    """Weights and biases of three layers, uniform within ±1/√inputs."""
    parameters = []
    for inputs, outputs in ((d, hidden), (hidden, hidden), (hidden, 1)):
        for shape in ((inputs, outputs), (outputs,)):
            uniform = torch.rand(shape, generator=generator, device=generator.device)
            parameters.append(((2 * uniform - 1) / sqrt(inputs)).requires_grad_())
    return parameters


def _logits(points: Any, weights: list[Any], torch: Any) -> Any:
    """How sure the discriminator is that a point comes from the source."""
    for layer in range(0, len(weights) - 2, 2):
        points = torch.nn.functional.leaky_relu(torch.addmm(weights[layer + 1], points, weights[layer]), _LEAK)
    return torch.addmm(weights[-1], points, weights[-2])[:, 0]
