"""Fuzz one parser in this process: ``python -m benchmarks.reliability.guided_parser PARSER ARTIFACTS WORK CORPUS ...``.

Further arguments are those of libFuzzer.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import atheris

LARGEST = 8192  # bytes of an input
LIMITS = (f"-max_len={LARGEST}", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1")


def main(parser: str, base: Path, work: Path, corpus: Path, arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("regnas").setLevel(logging.CRITICAL)
    with atheris.instrument_imports(include=["regnas"]):
        from benchmarks.reliability.artifacts import Artifacts
        from benchmarks.reliability.inputs import targets
        from regnas.errors import RegnasError
        from regnas.runtime.environment import environment_problems

        target = next(each for each in targets(Artifacts(base), work) if each.name == parser)
    (corpus / "undamaged").write_bytes(target.good)

    def parse(content: bytes) -> None:
        target.path.write_bytes(target.repair(content))
        target.before()
        try:
            with environment_problems():
                target.read()
        except RegnasError:
            pass

    atheris.Setup([sys.argv[0], str(corpus), *LIMITS, *arguments], parse)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:5]), sys.argv[5:])  # type: ignore[misc]
