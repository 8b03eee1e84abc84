# Made from _async/areas.py by src/python/generate.py; change that file instead.
"""Areas: polygons that the account stores under names, and what can be reached from a point."""

from __future__ import annotations

from typing import Final, Literal, cast
from urllib.parse import quote

from .. import types
from .._requests import Request
from .transport import Transport

__all__ = ["Areas"]

ROOT: Final = "/v2/protected/areas"


class Areas:
    """The areas of the account; needs the scope `search`. Filters take their names as `area`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(self, name: str, area: types.Polygons) -> types.AreasGetAnswerData:
        """Stores a GeoJSON Polygon or MultiPolygon under a name; an area with the same name is replaced."""
        return cast(types.AreasGetAnswerData, self._transport.data(Request("PUT", _path(name), area)))

    def get(self, name: str) -> types.AreasGetAnswerData:
        """Returns an area with its polygon."""
        return cast(types.AreasGetAnswerData, self._transport.data(Request.get(_path(name))))

    def all(self) -> list[types.AreasListAnswerDataItem]:
        """Returns the areas of the account, without their polygons."""
        return cast(list[types.AreasListAnswerDataItem], self._transport.data(Request.get(ROOT)))

    def delete(self, name: str) -> None:
        """Deletes an area."""
        self._transport.data(Request("DELETE", _path(name)))

    def isochrone(self, lat: float, lon: float, minutes: float, mode: Literal["car", "walk"]) -> types.Polygons:
        """Returns the area that can be reached from a point in some minutes.

        Args:
            lat, lon: the point, degrees.
            minutes: maximum duration of the journey.
            mode: by car or on foot.
        """
        request = Request.get("/v2/protected/isochrones", lat=lat, lon=lon, minutes=minutes, mode=mode)
        return cast(types.Polygons, (self._transport.data(request))["area"])


def _path(name: str) -> str:
    return f"{ROOT}/{quote(name, safe='')}"
