"""One module a format of prediction files; each gives the columns of a file by name."""
