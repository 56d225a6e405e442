"""Compare methods of updating a model: the work of ``regnas update``.

This module imports nothing, so that loading an exported network does not import the rest.
"""
