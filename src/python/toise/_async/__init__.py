"""The asynchronous client, from which `src/python/generate.py` makes the other one."""
