"""Adversarial training of a linear map (Conneau et al., 2018, "Word translation without parallel data")."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from damastes._arrays import Array, Progress, from_numpy, head_rows, no_progress, take_rows, to_numpy, unit_rows
from damastes.errors import InputError, MissingExtraError
from damastes.initializers.start import Start
from damastes.pairs import Pairs
from damastes.procrustes import polar
from damastes.retrieval import CSLS

__all__ = ["Adversarial"]

_LEAK = 0.2
# Learning rates mean something at one scale of the input only: of rows of length 1, 2 and 5, on the shipped sample and at
# several rates of W, this length had the highest criterion.
_LENGTH = 2.0
_PROGRESS_EVERY = 100


@dataclass(frozen=True, slots=True)
class Adversarial:
    """Train a linear map W until a discriminator cannot tell mapped source points from target points.

    The discriminator is a network with two hidden layers of leaky rectifiers, fed with dropout and trained on smoothed
    labels; W follows it by the gradient of the same loss with the labels exchanged, and by W ← (1 + β)W − βWWᵀW, which keeps
    it nearly orthogonal. After every epoch the mean cosine of the first source points to their CSLS translations, which
    needs no labels, says how good W is: the best W is kept, and its learning rate is halved when the criterion falls again.

    Training is unstable: other seeds give other answers, and the criterion tells which to believe. Rates are the original's;
    the size is what a CPU can do in minutes: hidden layers of 512 and epochs of 150,000 where the original has 2,048 and
    1,000,000 (half a day). That aligns the shipped English and Spanish, of 100 dimensions; with 300 it has not been enough. A
    loss that stays well below log 2 says that the sides can still be told apart. Vectors that are not centred
    (`Frame(centre=False)`) are easier: their mean is what it matches first.

    W starts from a random orthogonal matrix and not from I, because coordinates of two spaces have nothing to do with each
    other. Rows have one length, where the original leaves the published ones. Known pairs are left to the solvers. Needs
    torch; tensors stay on their device.

    Parameters
    ----------
    n_epochs, epoch_size, batch_size : epochs of epoch_size source points, in batches
    hidden : units of each hidden layer
    n_points : train on the first so many points of each side
    n_criterion : the criterion looks at the first so many
    n_steps : steps of the discriminator for one of W
    learning_rate, map_rate, decay : of the discriminator, of W at first, and the factor for W's after every epoch
    beta : of the orthogonality update
    dropout, smoothing : share of inputs that the discriminator does not see, and of each label given to the other
    """

    n_epochs: int = 4
    epoch_size: int = 150_000
    batch_size: int = 32
    hidden: int = 512
    n_points: int = 75_000
    n_criterion: int = 10_000
    n_steps: int = 5
    learning_rate: float = 0.1
    map_rate: float = 0.1
    decay: float = 0.98
    beta: float = 0.001
    dropout: float = 0.1
    smoothing: float = 0.1

    def __call__(
        self, X: Array, Y: Array, *, pairs: Pairs, rng: np.random.Generator, progress: Progress = no_progress
    ) -> Start:
        """Return Q₀; the evidence has the criterion and the discriminator's loss after every epoch."""
        self._check()
        torch = _torch()
        clouds = [_LENGTH * unit_rows(_tensor(head_rows(Z, self.n_points), torch)) for Z in (X, Y)]
        # Drawn from its own generator: torch's global state is the caller's.
        generator = torch.Generator(device=clouds[0].device).manual_seed(int(rng.integers(2**63)))
        W = _tensor(polar(rng.standard_normal((X.shape[1], Y.shape[1]))), torch).to(clouds[0].device)
        weights = _network(clouds[1].shape[1], self.hidden, generator, torch)
        n_batches = max(1, self.epoch_size // self.batch_size)
        best, rate, fell = (-np.inf, W), self.map_rate, False
        criteria: list[float] = []
        losses: list[float] = []
        for epoch in range(self.n_epochs):
            total = 0.0
            for batch in range(n_batches):
                for _ in range(self.n_steps):
                    total += self._discriminate(clouds, W, weights, generator, torch)
                W = self._fool(clouds, W, weights, rate, generator, torch)
                done = epoch * n_batches + batch + 1
                if done % _PROGRESS_EVERY == 0 or done == self.n_epochs * n_batches:
                    info = {"loss": total / ((batch + 1) * self.n_steps)} | ({"criterion": best[0]} if criteria else {})
                    progress("adversarial", done, self.n_epochs * n_batches, info)
            losses.append(total / (n_batches * self.n_steps))
            criteria.append(self._criterion(clouds, W))
            rate *= self.decay
            if criteria[-1] > best[0]:
                best = criteria[-1], W
            else:
                # One fall is forgiven.
                rate, fell = (rate / 2 if fell else rate), True
        evidence = {"criterion": max(criteria), "criteria": criteria, "losses": losses}
        return Start(polar(from_numpy(to_numpy(best[1]), X)), evidence)

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
        for name in counts:
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


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("Adversarial() needs torch: pip install 'damastes[torch]'") from None
    return torch


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
