"""The predictions of a network for images without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PredictedClasses:
    """The predictions of one member for N images.

    Attributes:
        member: the name of the member.
        classes: the names of all C classes, by number.
        numbers: [N], the number of the predicted class of each image.
        probabilities: [N, C], each row sums to 1.

    Example:
        >>> predicted = PredictedClasses("small", ("cat", "dog"), np.array([1]), np.array([[0.25, 0.75]]))
        >>> predicted.names, predicted.confidences.tolist()
        (('dog',), [0.75])
    """

    member: str
    classes: tuple[str, ...]
    numbers: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the predicted class of each image."""
        return tuple(self.classes[number] for number in self.numbers.tolist())

    @property
    def confidences(self) -> NDArray[np.float64]:
        """The probability of the predicted class of each image: [N]."""
        confidences: NDArray[np.float64] = self.probabilities.max(axis=1)
        return confidences
