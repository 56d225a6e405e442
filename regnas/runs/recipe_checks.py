"""Whether the recipe of a run fits its images, its networks and its losses, found out before anything is trained."""

from __future__ import annotations

from dataclasses import replace

from regnas.data import Splits
from regnas.errors import ConfigurationError
from regnas.family.polishing import Polishing
from regnas.losses import needs_single_labels
from regnas.runs.baselines import AccuracyOnly, SubNetwork, plan_members
from regnas.runs.config import Config
from regnas.space import SearchSpace
from regnas.training import check_sizes
from regnas.updates.models import single_labels_of, trainings_in


def check_recipe(values: Config, splits: Splits, space: SearchSpace, polish: Polishing | None) -> None:
    """Refuse augmentations that do not fit the images, the networks, a lesson or a baseline."""
    recipe = values.training
    if polish:  # its own epochs may be too few for what changes over the training
        replace(recipe, epochs=polish.epochs).image_shapes(splits.input_shape, "polish: training")
    other = [shape for shape in recipe.image_shapes(splits.input_shape) if shape != splits.input_shape]
    if other and any(space.resolutions):
        raise ConfigurationError(
            f"training.augmentations must keep the size of the images, {splits.input_shape[1]} x "
            f"{splits.input_shape[2]}, because the supernet resizes them itself, got {other[0][1]} x {other[0][2]}. "
            "Remove what changes the size, or supernet.resolutions."
        )
    if other:
        network = values.supernet.network(space.largest, splits.input_shape, len(splits.classes))
        check_sizes(network, other, "the supernet")
    if not recipe.mixings:
        return
    for lessons in (values.curriculum.lessons, polish.lessons if polish else {}):
        recipe.check_labels(needs_single_labels([lesson.loss for lesson in lessons.values()]))
    # Which members there will be is not known yet; their number and their networks do not matter here.
    members = {name: SubNetwork(values.supernet, space.largest) for name in values.budgets}
    for baseline in values.baselines.values():
        if not isinstance(baseline, AccuracyOnly):
            for model in trainings_in(plan_members(baseline, members).values()):
                recipe.check_labels(single_labels_of(model))
