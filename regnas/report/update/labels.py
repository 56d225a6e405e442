"""Place the numbers beside the points of a scatter plot, so that they can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence

Place = tuple[float, float]

RADII = (9.0, 14.0, 20.0, 27.0, 35.0)  # points
DIRECTIONS = 16
WIDTH, HEIGHT = 5.5, 8.5  # points, of one digit
CLEARANCE = 5.5  # points, around the marker of another method


def label_offsets(points: Sequence[Place], texts: Sequence[str], width: float, height: float) -> list[Place]:
    """Return an offset for each label, in the unit of ``points`` (1/72 inch), in a drawing of ``width`` x ``height``.

    The choice is greedy, from the most crowded point on. A label takes the first place, going outward, at which it
    overlaps with no point and no earlier label. If every place overlaps with something, it takes the place with the
    least overlap.
    """
    offsets: dict[int, Place] = {}
    for index in sorted(range(len(points)), key=lambda index: -_crowd(points, index)):
        taken = [(_moved(points[other], offset), len(texts[other])) for other, offset in offsets.items()]
        best: tuple[float, Place] | None = None
        for offset in _candidates():
            center = _moved(points[index], offset)
            cost = _cost(center, len(texts[index]), points, taken) + 100 * _outside(center, width, height)
            if best is None or cost < best[0]:
                best = cost, offset
            if cost == 0:
                break
        assert best is not None
        offsets[index] = best[1]
    return [offsets[index] for index in range(len(points))]


def _candidates() -> list[Place]:
    # up and to the right first, where a reader looks for a label
    turns = sorted(range(DIRECTIONS), key=lambda turn: min((turn - 2) % DIRECTIONS, (2 - turn) % DIRECTIONS))
    angles = [2 * math.pi * turn / DIRECTIONS for turn in turns]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for radius in RADII for angle in angles]


def _moved(point: Place, offset: Place) -> Place:
    return point[0] + offset[0], point[1] + offset[1]


def _crowd(points: Sequence[Place], index: int) -> int:
    return sum(math.dist(points[index], other) < RADII[2] for other in points)


def _cost(center: Place, digits: int, points: Sequence[Place], taken: Sequence[tuple[Place, int]]) -> float:
    half = digits * WIDTH / 2
    covered = sum(
        abs(center[0] - x) < half + CLEARANCE and abs(center[1] - y) < HEIGHT / 2 + CLEARANCE - 1 for x, y in points
    )
    met = sum(abs(center[0] - x) < half + other * WIDTH / 2 and abs(center[1] - y) < HEIGHT for (x, y), other in taken)
    return covered + 2 * met


def _outside(center: Place, width: float, height: float) -> bool:
    return not (WIDTH < center[0] < width - WIDTH and HEIGHT / 2 < center[1] < height - HEIGHT / 2)
