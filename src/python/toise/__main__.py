"""`python -m toise`: the executable."""

from .executable import main

main()
