"""All figures as one page without network: a pointer reads values, and a method lights up in every figure at once.

The pictures are the very SVG that a paper gets, so page and paper never differ; a few lines of script do the rest. A
plotting library in the page would bring megabytes, and its own pictures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from harness.leaderboard.colours import looks
from harness.leaderboard.figures.canvas import tips
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["interactive_page", "svg_part"]

STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 1rem; color: #111;
  background: white; }
nav { position: sticky; top: 0; background: white; border-bottom: 1px solid #ccc; padding: .4rem 0; z-index: 1;
  max-height: 7.5rem; overflow-y: auto; }
nav button { font: inherit; font-size: 12px; margin: .1rem; padding: .05rem .45rem; border: 1px solid #bbb;
  border-left: .5rem solid var(--look); border-radius: .2rem; background: white; cursor: pointer; }
nav button[aria-pressed=true] { background: #222; color: white; }
figure { margin: 1.2rem 0; } svg { width: 100%; height: auto; display: block; overflow: visible; }
svg.lit .m { opacity: .13; } svg.lit .m.on { opacity: 1; }
#tip { position: fixed; pointer-events: none; background: #222; color: white; padding: .2rem .5rem; font-size: 12px;
  border-radius: .2rem; max-width: 26rem; display: none; z-index: 2; }
"""

SCRIPT = """
const tip = document.getElementById("tip"), pinned = new Set();
const data = JSON.parse(document.getElementById("tips").textContent);
const buttons = [...document.querySelectorAll("nav button")];
function light(over) {
  const on = new Set(pinned);
  if (over !== null && over >= 0) on.add(over);
  for (const svg of document.querySelectorAll("svg")) {
    svg.classList.toggle("lit", on.size > 0);
    for (const part of svg.querySelectorAll(".m")) part.classList.toggle("on", on.has(Number(part.dataset.m)));
  }
}
for (const [place, button] of buttons.entries()) {
  button.addEventListener("mouseenter", () => light(place));
  button.addEventListener("mouseleave", () => light(null));
  button.addEventListener("focus", () => light(place));
  button.addEventListener("blur", () => light(null));
  button.addEventListener("click", () => {
    pinned.has(place) ? pinned.delete(place) : pinned.add(place);
    button.setAttribute("aria-pressed", pinned.has(place));
    light(null);
  });
}
let last = null;
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg"), places = data[figure.id] || [];
  svg.addEventListener("mousemove", event => {
    const box = svg.getBoundingClientRect(), by = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * by, y = (event.clientY - box.top) * by;
    let best = null, least = 14 * 14;
    for (const place of places) {
      const far = (place[0] - x) ** 2 + (place[1] - y) ** 2;
      if (far < least) { least = far; best = place; }
    }
    tip.style.display = best ? "block" : "none";
    if (best) {
      tip.textContent = best[3];
      tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
      tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
    }
    if (best?.[2] !== last) { last = best?.[2]; light(best ? best[2] : null); }
  });
  svg.addEventListener("mouseleave", () => { tip.style.display = "none"; last = null; light(null); });
}
"""


def interactive_page(board: Board, figures: Mapping[str, Figure], pictures: Mapping[str, str]) -> str:
    """The page of `figures`, whose SVG texts are `pictures`, name by name."""
    methods = [row.method for row in board.rows]
    place = {method: i for i, method in enumerate(methods)}
    look = looks(board.matrix.methods, board.baseline)
    buttons = "".join(
        f'<button aria-pressed="false" style="--look: {look[method].colour}">{escape(method)}</button>'
        for method in methods
    )
    parts = "".join(f'<figure id="{escape(n)}">{svg_part(text, place)}</figure>\n' for n, text in pictures.items())
    found = {name: tip_places(figure, place) for name, figure in figures.items()}
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(board.suite)}: figures</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(board.suite)}: figures</h1>\n<p>Point at a method to light it up everywhere, click to keep it "
        "lit; point into a figure to read a value.</p>\n"
        f'<nav aria-label="methods">{buttons}</nav>\n{parts}<div id="tip" role="tooltip"></div>\n'
        f'<script id="tips" type="application/json">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


def tip_places(figure: Figure, place: Mapping[str, int]) -> list[list[float | str]]:
    """[x, y, method's number, text] of every tip, in the units of the SVG: points from the top left corner.

    The figure has been drawn, so its axes lie where they will stay.
    """
    height, points = figure.bbox.height, 72 / figure.dpi
    found: list[list[float | str]] = []
    for one in tips(figure):
        x, y = one.axes.transData.transform((one.x, one.y))
        found.append([round(x * points, 1), round((height - y) * points, 1), place.get(one.method, -1), one.text])
    return found


def svg_part(text: str, place: Mapping[str, int]) -> str:
    """An SVG file as a part of a page: methods as classes, no ids but those it refers to, short numbers."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="method:([^"]*)"', lambda found: method_class(found.group(1), place), text)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", text)
    text = re.sub(r' d="[^"]*"', lambda found: re.sub(r"(\.\d)\d+", r"\1", found.group()), text)
    return re.sub(r">\s+<", "><", text)


def method_class(escaped: str, place: Mapping[str, int]) -> str:
    """The class of an artist that is a method's."""
    from html import unescape

    return f' class="m" data-m="{place.get(unescape(escaped), -1)}"'
