"""Small contents for the tests: three classes, 0 is the target of every sample, images that differ from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser

import numpy as np
import torch

from regnas.data import Split
from regnas.flips import Predictions
from regnas.report.family.contents import ReportContents, ReportedMethod, SearchHistory
from regnas.search import Measures, Trial
from regnas.space import Architecture, Block

MEMBERS = ("small", "medium", "large")


def answers(
    pattern: str,
    model: str = "model",
    wrong_logits: Mapping[int, float] | None = None,
    groups: Sequence[int] | None = None,
) -> Predictions:
    """``answers("110")``: correct, correct, wrong (class 1). With ``wrong_logits``, what class 1 has over the label."""
    right = np.array([mark == "1" for mark in pattern])
    logits = None
    if wrong_logits is not None:
        logits = np.zeros((len(pattern), 3), dtype=np.float32)
        logits[:, 2] = -50  # out of the way: only the label and class 1 count
        logits[right, 0] = 2
        for index, advantage in wrong_logits.items():
            logits[index, 1] = advantage
    return Predictions(
        model=model,
        ids=sample_ids(len(pattern)),
        targets=np.zeros(len(pattern), dtype=np.int64),
        predicted=np.where(right, 0, 1),
        logits=logits,
        groups=None if groups is None else np.array(groups),
    )


def sample_ids(count: int) -> np.ndarray:
    return np.array([f"sample-{index:02d}" for index in range(count)])


def split(count: int, channels: int = 1, side: int = 8, ids: np.ndarray | None = None) -> Split:
    pixels = np.random.default_rng(0).integers(0, 256, (count, channels, side, side), dtype=np.uint8)
    return Split(
        name="report",
        images=torch.from_numpy(pixels),
        targets=torch.zeros(count, dtype=torch.int64),
        ids=sample_ids(count) if ids is None else ids,
        groups=np.arange(count),
    )


def architecture(*stages: Sequence[tuple[int, int]]) -> Architecture:
    """``architecture([(8, 2), (8, 1)], [(16, 2)])``: width and expansion of each block of each stage."""
    blocks = tuple(tuple(Block.of(width=width, expansion=expansion) for width, expansion in stage) for stage in stages)
    return Architecture("test", blocks)


NESTED = (
    architecture([(8, 1)], [(16, 1)]),
    architecture([(8, 2)], [(16, 2), (16, 1)]),
    architecture([(12, 2)], [(24, 2), (16, 2)]),
)


def method(
    name: str, patterns: Sequence[str], title: str = "", networks: Sequence[Architecture] = NESTED, **changes: object
) -> ReportedMethod:
    predictions = tuple(answers(pattern, f"{name}/{index}") for index, pattern in enumerate(patterns))
    values = {
        "name": name,
        "title": title or name,
        "description": f"The method {name}.",
        "predictions": predictions,
        "architectures": tuple(networks[: len(patterns)]),
        "macs": tuple(1_000_000 * (index + 1) for index in range(len(patterns))),
        "parameters": tuple(1_000 * (index + 1) for index in range(len(patterns))),
        "training_macs": 5_000_000_000,
    }
    return ReportedMethod(**(values | changes))  # type: ignore[arg-type]


def history(name: str = "family/small", rewards: Sequence[float] = (0.5, 0.7, 0.6)) -> SearchHistory:
    trials = tuple(
        Trial(architecture([(8, index + 1)]), 1000, Measures(reward, {}), reward)
        for index, reward in enumerate(rewards)
    )
    chosen = max(trials, key=lambda trial: trial.reward).architecture.id if trials else ""
    return SearchHistory(name, trials, chosen)


def contents(*methods: ReportedMethod, **changes: object) -> ReportContents:
    count = len(methods[0].predictions)
    values = {
        "title": "a run",
        "members": MEMBERS[:count],
        "budgets": ("1M", "2M", "3M")[:count],
        "methods": methods,
        "searches": (history(),),
        "report_split": split(len(methods[0].predictions[0])),
        "classes": ("zero", "one", "two"),
        "facts": {"Seed": "0"},
    }
    return ReportContents(**(values | changes))  # type: ignore[arg-type]


VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """All elements with their attributes, and every tag that is not closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.problems: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes nothing")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def pictures(*names: str) -> set[str]:
    """The files of these figures."""
    return {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
