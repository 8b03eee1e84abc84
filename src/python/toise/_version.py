"""The version of the package, which is that of the executable in the same wheel."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("toise")
except PackageNotFoundError:
    # Run from the source tree, without having been installed.
    VERSION = "0+source"
