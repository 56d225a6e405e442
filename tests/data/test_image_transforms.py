"""The two ways to a square picture; that of the papers against torchvision, pixel by pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torchvision import transforms

from regnas.data.image_transforms import fit, imagenet
from tests.data.photographs import make_photographs, streamed


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8))


def of_torchvision(picture: Image.Image, size: int, resized: int) -> np.ndarray:
    steps = [transforms.Resize(resized, transforms.InterpolationMode.BILINEAR), transforms.CenterCrop(size)]
    return np.asarray(transforms.Compose(steps)(picture))


@pytest.mark.parametrize(
    "sides", [(500, 375), (375, 500), (333, 501), (501, 333), (97, 31), (31, 97), (256, 256), (224, 300), (1, 9)]
)
@pytest.mark.parametrize(("size", "resized"), [(224, 256), (160, 183), (33, 38), (1, 2)])
def test_imagenet_is_the_evaluation_of_torchvision(sides: tuple[int, int], size: int, resized: int) -> None:
    picture = noise(*sides)
    found = np.asarray(imagenet(picture, size))
    assert found.shape == (size, size, 3)
    assert np.array_equal(found, of_torchvision(picture, size, resized))


def test_a_line_of_pixels_is_refused_before_it_is_made_huge() -> None:
    with pytest.raises(ValueError, match="too narrow at 1 x 2000 pixels"):
        imagenet(noise(1, 2000), 224)  # would become 256 x 512,000


@pytest.mark.parametrize("sides", [(500, 375), (31, 97)])
def test_fit_takes_the_whole_of_the_shorter_side(sides: tuple[int, int]) -> None:
    picture = noise(*sides)
    expected = ImageOps.fit(picture, (24, 24), Image.Resampling.BILINEAR)
    assert np.array_equal(np.asarray(fit(picture, 24)), np.asarray(expected))


@pytest.mark.parametrize("keep", ["all", "search"])
def test_files_of_every_color_mode_agree_with_torchvision(tmp_path: Path, keep: str) -> None:
    """As its folders read them: converted to RGB first, whatever the file holds."""
    root = make_photographs(tmp_path / "photographs")
    for mode in ("L", "CMYK", "P", "RGBA"):
        suffix = "JPEG" if mode in ("L", "CMYK") else "png"
        noise(51, 38).convert(mode).save(root / "val" / "class0" / f"{mode}.{suffix}")
    splits = streamed(root, size=28, transform="imagenet", keep=keep).load()
    steps = transforms.Compose([transforms.Resize(32), transforms.CenterCrop(28), transforms.PILToTensor()])
    for split in splits.all:
        expected = torch.stack([steps(Image.open(root / name).convert("RGB")) for name in split.ids])
        assert torch.equal(split.images[:], expected)


@pytest.mark.parametrize("keep", ["all", "search"])
def test_imagenet_normalizes_as_torchvision_does(tmp_path: Path, keep: str) -> None:
    root = make_photographs(tmp_path / "photographs")
    splits = streamed(root, transform="imagenet", keep=keep).load()
    picture = Image.open(root / str(splits.report.ids[0]))
    steps = transforms.Compose(
        [
            transforms.Resize(19),  # 16 / 0.875 = 18.3
            transforms.CenterCrop(16),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    torch.testing.assert_close(splits.preprocessing(splits.report.images[:1])[0], steps(picture))
