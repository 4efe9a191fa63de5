"""Compile the kernels and keep them, so that tests beside each other need not each do so: ``make kernels``.

Makes and uses a folder of every kind, and fits a few small corpora: nearly every kernel is called that way.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # benchmarks are no part of what is installed

from benchmarks.attacks import numbers
from benchmarks.attacks.targets import TARGETS, write_inputs


def main() -> None:
    """Call the kernels."""
    began = time.perf_counter()
    logging.getLogger("textlds").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # small corpora with odd settings overflow now and then
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder / "inputs")
        for kind, target in TARGETS.items():
            target.make(folder / kind)
            target.use(folder / kind)
    for seed in range(8):
        numbers.run(seed)
    print(f"kernels: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
