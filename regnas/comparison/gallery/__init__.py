"""The flip gallery: the pictures that a new model breaks, on one page."""

from regnas.comparison.gallery.contents import Gallery, gallery_of
from regnas.comparison.gallery.page import render
from regnas.comparison.gallery.reading import read_models

__all__ = ["Gallery", "gallery_of", "read_models", "render"]
