"""How results are written down for people: numbers, Markdown, figures, pages. Needs no torch."""
