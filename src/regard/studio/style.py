"""How the studio looks: style sheets that its rooms share with pages, the little script, Gradio's theme."""

from __future__ import annotations

from pathlib import Path

from regard.errors import need
from regard.paper import ink, pages

HERE = Path(__file__).parent
FONT = ("system-ui", "-apple-system", "Segoe UI", "Helvetica", "Arial", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "monospace")
OWN = {"paper": ink.WHITE, "black": ink.INK, "mono": ", ".join(MONO)}

CSS = "\n".join(
    [
        ink.variables(":root", ink.LIGHT | OWN),
        ink.variables(".dark", ink.DARK),
        pages.PARTS,
        (HERE / "rooms.css").read_text(encoding="utf-8"),
    ]
)
# Gradio puts its own class before every rule above; the page around its rooms has rules of its own, and one
# listener for all of them: rooms are drawn anew all the time, the listener stays.
PAGE, SCRIPT = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
HEAD = f"<style>{PAGE}</style><script>{SCRIPT}</script>"


def theme() -> object:
    """Gradio's plain theme in the studio's blue, with fonts that every machine has."""
    gr = need("gradio", "studio")
    base = gr.themes.Base(primary_hue="blue", neutral_hue="slate", font=FONT, font_mono=MONO)
    return base.set(
        button_primary_background_fill="#1f4a94",
        button_primary_background_fill_hover="#2a5bb0",
        button_primary_background_fill_dark="#2f62bd",
        button_primary_text_color=ink.WHITE,
        slider_color="#1f4a94",
        slider_color_dark="#7da2ec",
        checkbox_background_color_selected="#1f4a94",
        block_info_text_color=ink.QUIET,
        body_background_fill_dark="#12151c",
    )
