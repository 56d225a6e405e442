"""The work of ``regnas run``: configuration, run folder and stages."""
