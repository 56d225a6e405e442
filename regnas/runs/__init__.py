"""What ``regnas run`` does: configuration, run folder and stages."""
