"""Chains of releases, and every method with as few members and samples as it takes."""

from __future__ import annotations

from dataclasses import fields

from regnas.updates.methods import METHODS, Chain, ChainStage, Release
from tests.updates.models.making import OTHER, SMALL

NAMES = ("old", "new", "newest")


def chain(*releases, references="chain"):
    return Chain(tuple(ChainStage(name, release) for name, release in zip(NAMES, releases, strict=False)), references)


def method(name, **settings):
    few = {"members": 2, "samples": 16, "networks": (OTHER,)}
    known = {entry.name for entry in fields(METHODS[name])}
    return METHODS[name](**({key: value for key, value in few.items() if key in known} | settings))


SAME = chain(Release(SMALL), Release(SMALL))
THREE = chain(Release(SMALL, 0.5), Release(SMALL), Release(SMALL))
SCENARIOS = {
    "more samples": chain(Release(SMALL, 0.5), Release(SMALL)),
    "more classes": chain(Release(SMALL, classes=0.5), Release(SMALL)),
    "fine-tuning": chain(Release(SMALL), Release(SMALL, start="previous")),
    "three": chain(Release(SMALL, 0.5, 0.5), Release(SMALL, 0.5, 0.75, start="previous"), Release(SMALL)),
}
