"""The client. `src/python/generate.py` makes the other version of it from this one."""
