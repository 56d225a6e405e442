"""Reports: the kit of numbers, figures and pages, and one renderer per result.

This module imports nothing, so that a table for the terminal does not import the plots.
"""
