# Made from _async/__init__.py by src/python/generate.py; change that file instead.
"""The client, written once: `src/python/generate.py` makes its other form."""
