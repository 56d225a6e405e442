"""Fragments of the text formats, from which random texts are made."""

from __future__ import annotations

_NUMBERS = ("0", "1", "-1", "3.5", "1e400", "NaN", "inf", "9" * 400, "0x10", "1_0", "-", ".")
_TEXTS = ('"a"', "'a'", '""', '"\\u0000"', '"\\ud800"', "é", "\x00", "\x1b[2J", "\ufeff", "\u2028", "a" * 2000)

JSON = (
    *_NUMBERS, *_TEXTS, "[", "]", "{", "}", "[[", "]]", ":", ",", '"id":', '"target":', '"predicted":', '"logits":',
    '"format":', '"digest":', '"members":', '"entries":', '"configuration":', "null", "true", "false", "\n", "\\", '"',
    '{"id": "a", "target": 0, "predicted": 1}\n', '{"id": 1, "target": "x", "logits": [0.5, 1]}\n', "[" * 500,
    '{"a":' * 300, "//", "'",
)  # fmt: skip
CSV = (
    *_NUMBERS, *_TEXTS, "id,target,predicted\n", "id,target,logits_0,logits_1\n", "group,", "\n", "\r\n", "\r", ",",
    ",,", '"', '""', '"\n"', "a,0,1\n", "b,1,1\n", "sample 1,cat,dog\n", ";", "\t", " ", "#", "=1+1",
    ",".join("x" * 3000),
)  # fmt: skip
TOML = (
    *_NUMBERS, *_TEXTS, "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\n", "#", '"""', "'''", "[data]\n",
    "[supernet]\n", "[budgets]\n", "[training]\n", "[search]\n", "[search.reward]\n", "[curriculum.lessons.a]\n",
    "[machine]\n", "[polish]\n", "[baselines.independent]\n", 'name = "digits"\n', 'name = "arrays"\n',
    'name = "elastic_resnet"\n', 'small = "300M"\n', 'large = "<= 1e400"\n', "epochs = 3\n", "widths = [[1, 2]]\n",
    "seed = 1\n", "weights = \"x\"\n", "max_nfr = 2\n", 'storage = "postgresql://a:b@c:99x/d"\n', "x = ", "a.b.c = 1\n",
    "a." * 400, "[" * 300, "x = [" * 50, "true", "1979-05-27", '"auto"', 'reward = { name = "R2" }\n',
)  # fmt: skip
TOML_UPDATE = (
    *TOML, "[models.old]\n", "[models.new]\n", "[methods.none]\n", "[methods.elodi]\n", "[methods.bcwi]\n",
    "[fine_tuning]\n", "seeds = [0]\n", "samples = 0.5\n", 'network = { name = "small_resnet" }\n', "members = 2\n",
    'start = "previous"\n', 'checkpoint = "x"\n', "alpha = 2\n", 'references = ["chain"]\n', "[chosen.elodi]\n",
)  # fmt: skip
