"""Count the costs of a mobile network, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from regnas.space import Block, Cost, SearchSpace, State
from supernets.channels import stride_output
from supernets.costs import bottleneck_cost, convolution_cost
from supernets.images import InputShape, usable_resolutions
from supernets.mobile.layout import MobileLayout


@dataclass(frozen=True)
class MobileRules:
    """The state is the size of the feature maps; the widths are those of the stages."""

    layout: MobileLayout
    height: int
    width: int

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem."""
        layout = self.layout
        size = (self.height, self.width) if resolution is None else (resolution, resolution)
        size = stride_output(size, layout.stem_stride)
        stem = convolution_cost(layout.channels, layout.stem_width, 3, size)
        return size, stem.plus(
            bottleneck_cost(layout.stem_width, layout.stem_width, layout.first_width, 3, 1, size, False, False)
        )

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and its cost, or None if it is not allowed here."""
        assert isinstance(state, tuple)
        layout = self.layout
        channels, stride = layout.width_before(stage, position), layout.stride(stage, position)
        of_stage = layout.stages[stage]
        genes = dict(block.genes)
        cost = bottleneck_cost(
            channels, int(genes["middle"]), of_stage.width, int(genes["kernel"]), stride, state, of_stage.squeezing
        )
        return stride_output(state, stride), cost

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        assert isinstance(state, tuple)
        layout = self.layout
        total = convolution_cost(layout.stages[-1].width, layout.head_width, 1, state)
        features = layout.head_width
        if layout.mixed_width is not None:
            total = total.plus(Cost(features * layout.mixed_width, features * layout.mixed_width))
            features = layout.mixed_width
        return total.plus(Cost(features * layout.classes, (features + 1) * layout.classes))


def mobile_space(name: str, layout: MobileLayout, input_shape: InputShape, resolutions: tuple[int, ...]) -> SearchSpace:
    """Return the search space of a layout for these images."""
    rules = MobileRules(layout, input_shape[1], input_shape[2])
    return SearchSpace(name, layout.elastic_stages(), rules, usable_resolutions(resolutions, input_shape))
