"""`python -m toise` runs the executable."""

from .executable import main

main()
