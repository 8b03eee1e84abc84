"""The client, written once: `src/python/generate.py` makes its other form."""
