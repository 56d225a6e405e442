"""The gallery as one self-contained HTML file.

Pictures and answers are data in a block of JSON. A script makes the elements that are scrolled into view, because a
browser takes seconds for thousands of pictures in the markup. The page's policy allows this script only, by its sha256,
so markup in the name of a class or a file stays text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from markupsafe import Markup

from regnas.comparison.gallery.contents import Gallery
from regnas.report.kit.formatting import percent
from regnas.report.kit.pages import page
from regnas.runtime.printable import json_escapes

# Characters that could end a script element or, in older browsers, a line of script.
_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render(gallery: Gallery) -> str:
    """Return the page."""
    script = (resources.files("regnas.comparison.gallery") / "templates" / "gallery.js").read_text(encoding="utf-8")
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page(
        "regnas.comparison.gallery",
        "gallery.html.j2",
        {"percent": percent},
        gallery=gallery,
        script=Markup(script),
        script_hash=f"sha256-{fingerprint}",
        data=Markup(script_json(_values(gallery))),
    )


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a script element; escapes mean the same to a reader of JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_escapes(text.translate(_ESCAPED))


def _values(gallery: Gallery) -> dict[str, Any]:
    """Return the data of the script, with each class name once."""
    named = {flip.label for flip in gallery.flips}
    named |= {answer.predicted for flip in gallery.flips for answer in flip.answers}
    return {
        "models": gallery.models,
        "classes": {str(index): gallery.class_name(index) for index in sorted(named)},
        "flips": [
            {
                "id": flip.sample,
                "label": flip.label,
                "answers": [[answer.predicted, _rounded(answer.confidence)] for answer in flip.answers],
                "suspect": flip.suspect,
                "picture": flip.picture,
            }
            for flip in gallery.flips
        ],
    }


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)
