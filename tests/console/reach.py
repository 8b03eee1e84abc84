"""Whether anyone can use a screen: what axe-core cannot judge.

axe-core leaves out text over gradients and does not press keys. Here the contrast of all text is computed from the
styles, and the Tab key goes through the screen: each stop must show that it has the focus.
"""

import pathlib

SCRIPT = pathlib.Path(__file__).with_name("reach.js").read_text(encoding="utf-8")
# Tab stops that are tried on a screen.
STOPS_MAX = 40


def ask(page, question):
    """The answer of a function of reach.js."""
    return page.evaluate(f"{SCRIPT.strip()}.{question}()")


def contrast(page):
    """Texts whose contrast is too low."""
    return ask(page, "contrast")


def stops_without_focus(page):
    """Stops of the Tab key that do not show that they have the focus."""
    faults = []
    page.evaluate("document.activeElement?.blur()")
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        stop = ask(page, "focused")
        if stop is None:
            break
        if not stop["isShown"]:
            faults.append(f"no focus is shown: {stop['name']}")
    return faults
