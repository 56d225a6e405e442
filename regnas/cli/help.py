"""The order of the commands in `regnas --help`, grouped by task, and an example of each."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from typer.core import TyperGroup

EXAMPLES = {
    "Compare models": {
        "compare": "regnas compare old.csv new.csv --html flips.html",
        "gate": "regnas gate old.csv new.csv --max-nfr 0.02",
        "gallery": "regnas gallery old.npz new.npz --data photos/ --out broken.html",
        "predict": "regnas predict resnet18 photos/ --out resnet18.npz",
    },
    "Update a model": {
        "update": "regnas update update_digits --out runs/my_update",
    },
    "Build a family": {
        "run": "regnas run digits --out runs/my_family",
        "train": "regnas train digits",
        "search": "regnas search runs/digits --add-budget tablet=2M",
        "polish": "regnas polish runs/digits --alpha 0.5",
        "baselines": "regnas baselines runs/digits",
        "report": "regnas report runs/digits",
        "export": "regnas export runs/digits --format onnx",
    },
    "Tools": {
        "doctor": "regnas doctor",
        "verify": "regnas verify runs/digits/family",
        "validate": "regnas validate my_family.toml --set training.epochs=3",
        "list": "regnas list losses",
        "import-ofa": "regnas import-ofa ofa_mbv3_d234_e346_k357_w1.0",
        "latency-table": "regnas latency-table digits --out digits-latency.json",
    },
}


class GroupedCommands(TyperGroup):
    """Shows the commands in panels, each with an example, and their help texts literally.

    Typer reads help texts as markup. Without escapes, a text such as "a key of [polish]" would lose its last word.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        given = dict(self.commands)
        self.commands.clear()
        for panel, examples in EXAMPLES.items():
            for name, example in examples.items():
                command: Any = given.pop(name)
                self.commands[name] = command
                command.rich_help_panel = panel
                command.epilog = f"Example: {escape(example)}"
        self.commands.update(given)
        for command in self.commands.values():
            command.help = escape(command.help or "")
            for parameter in command.params:
                if text := getattr(parameter, "help", None):
                    setattr(parameter, "help", escape(text))  # noqa: B010 (the base class does not declare it)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the panels."""
        return list(self.commands)
