"""The version of the package, which is that of the executable in the same wheel."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("toise")
except PackageNotFoundError:
    # The package runs from the source tree and is not installed.
    VERSION = "0+source"
