"""Take the pictures of the page for docs/images: python -m tools.make_page_pictures http://127.0.0.1:8080/

The server should have an index and texts: textlds serve MODEL --index INDEX --text FILE. Needs Chromium; see
tests/serve/browsing.py.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from tests.serve.browsing import browsing

IMAGES = Path(__file__).parent.parent / "docs" / "images"
VIEWS: dict[str, dict[str, object]] = {
    "reading": {"token": 4},
    "filter": {"token": 4},
    "contexts": {},
    "map": {"word": "river"},
    "transitions": {"pair": 6, "text": "She must be there by now."},
    "learning": {},
    "search": {"word": "bank", "a": "He sat on the bank of the river."},
}


def main() -> None:
    """Take them all."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, browsing(Path(profile)) as page:
        page.size(1200, 820)
        for view, state in VIEWS.items():
            page.open(f"{sys.argv[1]}#{view}{'?' + urlencode(state) if state else ''}")
            shot = Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert("RGB")
            shot.quantize(256, dither=Image.Dither.NONE).save(IMAGES / f"page-{view}.png", optimize=True)


if __name__ == "__main__":
    main()
