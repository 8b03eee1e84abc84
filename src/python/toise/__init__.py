"""toise in Python: clients of its HTTP interface, records as tables, webhooks, and the executable.

    import toise

    with toise.Client(key="toise_live_…") as client:
        flats = client.sales.search({"insee_code": "75111", "property_type": ["Appartement"]}, limit=500).to_pandas()
        value = client.estimate(toise.home("CLASS_FLAT", 50, lon=2.3795, lat=48.8631, rooms=2))

`AsyncClient` has the same methods with `await`. The URL and the key may also come from `TOISE_URL` and `TOISE_KEY`.
Responses are plain dictionaries whose types are in `toise.types`; failures are the exceptions of `toise.errors`.
"""

from . import errors, executable, tables, types, webhooks
from ._async.client import AsyncClient
from ._async.pages import AsyncPages
from ._geocoding import FileOptions
from ._requests import Retries
from ._sync.client import Client
from ._sync.pages import Pages
from ._version import VERSION as __version__
from .errors import ApiError, ItemError, ToiseError
from .homes import home
from .webhooks import ReceivedDelivery, WebhookVerifier

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncPages",
    "Client",
    "FileOptions",
    "ItemError",
    "Pages",
    "ReceivedDelivery",
    "Retries",
    "ToiseError",
    "WebhookVerifier",
    "__version__",
    "errors",
    "executable",
    "home",
    "tables",
    "types",
    "webhooks",
]
