# Made from _async/__init__.py by src/python/generate.py; change that file instead.
"""The blocking client, from which `src/python/generate.py` makes the other one."""
