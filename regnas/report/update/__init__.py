"""The report of an update: tables, plots and one HTML page."""
