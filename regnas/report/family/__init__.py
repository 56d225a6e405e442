"""The report of a family: tables, plots and one HTML page."""
