"""Ready runs; ``regnas run NAME`` finds them here."""
