"""``python -m regnas`` is the command."""

from regnas.cli import main

if __name__ == "__main__":
    main()
