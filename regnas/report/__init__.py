"""Results for people: the kit of numbers, figures and pages, and one renderer per result.

Empty on purpose: a terminal table must not wait for the plots.
"""
