"""A person who has never seen the console values a home, makes an alert and exports a table, by what is visible alone.

The steps use only words that stand on the screen, in the given language: of buttons and links, above fields and in
them. No address of a screen, no style and no name that only a screen reader has is used.
"""

import re

from playwright.sync_api import expect

WORDS = {
    "en-GB": {
        "key": "API key", "enter": "Open the console", "home": "A home", "address": "Number, street and town",
        "value": "Estimated value", "house": "House", "alerts": "Alerts", "new alert": "New alert",
        "postal code": "Postal code", "done": "Done", "name": "Name", "webhook": "Webhook address", "create": "Create",
        "made": "is active", "sql": "SQL", "examples": "Examples", "communes": "Communes with the most sales",
        "run": "Run", "file": "csv",
    },
    "fr-FR": {
        "key": "Clé d’API", "enter": "Ouvrir la console", "home": "Un bien", "address": "Numéro, rue et ville",
        "value": "Valeur estimée", "house": "Maison", "alerts": "Alertes", "new alert": "Nouvelle alerte",
        "postal code": "Code postal", "done": "Terminé", "name": "Nom", "webhook": "Adresse du webhook",
        "create": "Créer", "made": "est active", "sql": "SQL", "examples": "Exemples",
        "communes": "Communes avec le plus de ventes", "run": "Exécuter", "file": "csv",
    },
}


class Screen:
    """The page as someone sees it in a language."""

    def __init__(self, page, language):
        self.page = page
        self.words = WORDS[language]

    def shown(self, name):
        """What shows exactly these words."""
        words = re.compile(rf"^\s*{re.escape(self.words[name])}(\s|$)")
        return self.page.get_by_text(words).filter(visible=True).first

    def press(self, name):
        self.shown(name).click()

    def write(self, name, text):
        """Clicks the words above a field or those in it, and types."""
        inside = self.page.get_by_placeholder(self.words[name], exact=True).filter(visible=True)
        inside.or_(self.shown(name)).first.click()
        self.page.keyboard.type(text, delay=20)


def visit(page, language, console, key, address, receiver):
    """Goes from the first page to a value, an alert and a file. `address` is a street with its number and town."""
    screen = Screen(page, language)
    page.goto(console)
    screen.write("key", key)
    screen.press("enter")

    # The value of a home.
    screen.press("home")
    screen.write("address", address["typed"])
    page.get_by_text(address["found"]).filter(visible=True).first.click()
    expect(screen.shown("value")).to_be_visible()
    screen.press("house")
    expect(page.get_by_text(re.compile(r"^€[\d,]{5,}$|^[\d\s\u202f\u00a0]{5,}€$")).first).to_be_visible()

    # An alert on a postal code.
    screen.press("alerts")
    screen.press("new alert")
    screen.press("postal code")
    # The cursor shows that one may type.
    expect(page.locator("[popover] input:focus")).to_be_visible()
    page.keyboard.type("75011")
    screen.press("done")
    screen.write("name", "75011")
    screen.write("webhook", receiver)
    screen.press("create")
    expect(page.get_by_text(re.compile(f"75011.*{screen.words['made']}")).first).to_be_visible()

    # A table as a file.
    screen.press("sql")
    screen.press("examples")
    screen.press("communes")
    screen.press("run")
    expect(page.get_by_text("insee_code", exact=True).filter(visible=True).first).to_be_visible()
    with page.expect_download() as download:
        screen.press("file")
    with open(download.value.path(), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0].startswith("insee_code,city,sales,"), lines[:2]
    assert len(lines) > 10, f"{len(lines)} lines"
