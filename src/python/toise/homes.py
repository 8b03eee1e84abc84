"""Builds the request for the value of a home from keywords, and the query for its report from that request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

from .types import EnumEnergyClassification, EnumGreenhouseClassification, EstimateRequest

__all__ = ["home", "report_query"]

Kind = Literal["CLASS_FLAT", "CLASS_HOUSE"]
Letter = Literal["A", "B", "C", "D", "E", "F", "G"]


def home(
    kind: Kind,
    surface: float,
    *,
    lon: float | None = None,
    lat: float | None = None,
    address: str | None = None,
    rooms: int = 0,
    bedrooms: int | None = None,
    land_surface: float | None = None,
    construction_year: int | None = None,
    general_conditions: Sequence[str] = (),
    energy: Letter | EnumEnergyClassification | None = None,
    climate: Letter | EnumGreenhouseClassification | None = None,
    floor: int | None = None,
    total_floor: int | None = None,
    furniture: str | None = None,
    **characteristics: bool,
) -> EstimateRequest:
    """Returns the request for the value of a home.

    Args:
        kind: flat or house.
        surface: living surface, m².
        lon, lat: position, degrees; or give an address.
        address: address in one line, with postal code and commune.
        rooms: main rooms; 0 if unknown.
        bedrooms: bedrooms; by default one less than the rooms.
        land_surface: land of a house, m².
        construction_year: year.
        general_conditions: `GENERAL_CONDITION_…`.
        energy, climate: classes, as a letter or as in the contract.
        floor, total_floor: storey of the home, and storeys of the building.
        furniture: `FURNITURE_…`.
        characteristics: characteristics of the home, such as `hasLift=True`.

    Raises:
        ValueError: there is neither a position nor an address.
    """
    if address is None and (lon is None or lat is None):
        raise ValueError("a home needs lon and lat, or an address")
    location: dict[str, Any] = {} if address is None else {"address": address}
    if lon is not None and lat is not None:
        location["locationCoordinate"] = {"location": [lon, lat]}
    habitation: dict[str, Any] = {
        "surface": {"total": surface},
        "roomCount": rooms,
        "bedroomCount": max(rooms - 1, 0) if bedrooms is None else bedrooms,
    }
    known: dict[str, dict[str, Any]] = {
        "propertyCondition": {
            "constructionYear": construction_year,
            "generalConditions": list(general_conditions) or None,
        },
        "climate": {
            "epcEnergy": _class("ENERGY_CLASSIFICATION_", energy),
            "epcClimate": _class("GREENHOUSE_CLASSIFICATION_", climate),
        },
        "features": {"propertyFloor": floor, "propertyTotalFloor": total_floor, "furniture": furniture},
        "characteristics": characteristics,
    }
    for name, parts in known.items():
        given = {part: value for part, value in parts.items() if value is not None}
        if given:
            habitation[name] = given
    made: dict[str, Any] = {
        "location": location,
        "type": kind,
        "offer": {"type": "OFFER_BUY"},
        "habitation": habitation,
    }
    if land_surface is not None:
        made["land"] = {"surface": land_surface}
    return cast(EstimateRequest, made)


_REPORT_PARAMETERS: Final = {
    "address": ("location", "address"),
    "type": ("type",),
    "surface_m2": ("habitation", "surface", "total"),
    "room_count": ("habitation", "roomCount"),
    "bedroom_count": ("habitation", "bedroomCount"),
    "land_surface_m2": ("land", "surface"),
    "construction_year": ("habitation", "propertyCondition", "constructionYear"),
    "general_condition": ("habitation", "propertyCondition", "generalConditions"),
    "epc_energy": ("habitation", "climate", "epcEnergy"),
    "epc_climate": ("habitation", "climate", "epcClimate"),
    "floor": ("habitation", "features", "propertyFloor"),
    "total_floor": ("habitation", "features", "propertyTotalFloor"),
    "furniture": ("habitation", "features", "furniture"),
}
"""Parameters of a report, with their paths in the request for a value."""


def report_query(home: EstimateRequest) -> dict[str, Any]:
    """Returns the parameters with which the report of a home is requested; None for what is not known."""
    query = {name: _at(home, path) for name, path in _REPORT_PARAMETERS.items()}
    query["longitude"], query["latitude"] = _at(home, ("location", "locationCoordinate", "location")) or (None, None)
    for name, value in (_at(home, ("habitation", "characteristics")) or {}).items():
        query[f"has_{name.removeprefix('has').lower()}"] = value
    return query


def _at(record: Any, path: Sequence[str]) -> Any:
    for name in path:
        record = (record or {}).get(name)
    return record


def _class(prefix: str, letter: str | None) -> str | None:
    return letter if letter is None or letter.startswith(prefix) else prefix + letter
