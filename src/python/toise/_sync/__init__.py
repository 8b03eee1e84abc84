# Made from _async/__init__.py by src/python/generate.py; change that file instead.
"""The client. `src/python/generate.py` makes the other version of it from this one."""
