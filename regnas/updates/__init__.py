"""Ways of updating a model, compared: the job of ``regnas update``.

Empty on purpose: whoever loads an exported network does not wait for the rest.
"""
