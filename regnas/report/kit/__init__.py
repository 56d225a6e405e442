"""The format of numbers, Markdown, figures and pages in all reports. Does not import torch."""
