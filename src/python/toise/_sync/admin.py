# Made from _async/admin.py by src/python/generate.py; change that file instead.
"""Operators' calls over HTTP; they need a key with the scope `admin`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, cast

from .. import types
from .._pages import Page, page_size, parts
from .._requests import Request
from .pages import Pages
from .transport import Transport

__all__ = ["Admin"]

ROOT: Final = "/v2/protected/admin"
ADVERTS_MAX: Final = 1000
PAGE_MAX: Final = 100
ERASURE_TIMEOUT_S: Final = 3600.0
"""An erasure reads everything that is stored."""


class Admin:
    """Ingests adverts, decides which are of one home, erases persons, and manages accounts, keys and dead letters."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ingest(
        self, adverts: Sequence[Mapping[str, Any]], *, mapping: str | None = None
    ) -> list[types.AdvertOutcome]:
        """Ingests any number of adverts and returns the outcome of each, in order.

        All are on disk when this returns. Sending the same adverts again does no harm.

        Args:
            adverts: adverts in the form of the contract, or rows of any shape with a mapping.
            mapping: name of the mapping that turns rows into adverts.
        """
        outcomes: list[types.AdvertOutcome] = []
        for part in parts(adverts, ADVERTS_MAX):
            query = {"mapping": mapping}
            request = Request("POST", f"{ROOT}/adverts", {"adverts": list(part)}, query=query)
            outcomes += self._transport.data(request)
        return outcomes

    def accounts(self) -> list[types.Account]:
        """Returns all accounts."""
        return cast(list[types.Account], self._transport.data(Request.get(f"{ROOT}/accounts")))

    def create_account(self, name: str) -> types.AccountWithSecret:
        """Creates an account and returns it with its signing secret."""
        request = Request.change("POST", f"{ROOT}/accounts", {"name": name})
        return cast(types.AccountWithSecret, self._transport.data(request))

    def account(self, account_id: str) -> types.Account:
        """Returns one account."""
        return cast(types.Account, self._transport.data(Request.get(f"{ROOT}/accounts/{account_id}")))

    def rotate_secret(self, account_id: str) -> types.AccountWithSecret:
        """Creates a new signing secret. For 24 hours, the former one signs too."""
        request = Request.change("POST", f"{ROOT}/accounts/{account_id}/secrets/rotate")
        return cast(types.AccountWithSecret, self._transport.data(request))

    def keys(self, account_id: str | None = None) -> list[types.Key]:
        """Returns all keys, or those of an account."""
        request = Request.get(f"{ROOT}/keys", account_id=account_id)
        return cast(list[types.Key], self._transport.data(request))

    def create_key(self, request: types.KeyRequest) -> types.NewKey:
        """Creates a key. Its text is returned only here."""
        made = self._transport.data(Request.change("POST", f"{ROOT}/keys", request))
        return cast(types.NewKey, made)

    def change_key(self, key_id: str, change: types.KeyChange) -> types.Key:
        """Changes grants or limits of a key."""
        request = Request("PATCH", f"{ROOT}/keys/{key_id}", change)
        return cast(types.Key, self._transport.data(request))

    def revoke_key(self, key_id: str) -> None:
        """Revokes a key permanently."""
        self._transport.send(Request("DELETE", f"{ROOT}/keys/{key_id}"))

    def usage(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> list[types.AccountUsage]:
        """Returns the credits and calls of every account; both days are included."""
        days = {"from_date": _day(from_date), "to_date": _day(to_date)}
        request = Request.get(f"{ROOT}/usage", **days)
        return cast(list[types.AccountUsage], self._transport.data(request))

    def candidates(self, limit: int = 20) -> types.CandidatePairs:
        """Returns pairs of properties that may be one home, most likely first; at most 100."""
        request = Request.get(f"{ROOT}/properties/candidates", limit=limit)
        return cast(types.CandidatePairs, self._transport.data(request))

    def merge(self, property_id: str, other_id: str) -> types.DecidedProperty:
        """Declares that two properties are one home. The older identifier stays and is returned."""
        body = {"propertyFlxId": other_id}
        request = Request.change("POST", f"{ROOT}/properties/{property_id}/merge", body)
        return cast(types.DecidedProperty, self._transport.data(request))

    def keep_apart(self, property_id: str, other_id: str) -> types.KeptApart:
        """Declares that two properties are different homes: they are never merged, and the pair is no longer listed."""
        body = {"propertyFlxId": other_id}
        request = Request.change("POST", f"{ROOT}/properties/{property_id}/keep-apart", body)
        return cast(types.KeptApart, self._transport.data(request))

    def split(self, property_id: str, advert_ids: Sequence[str]) -> types.DecidedProperty:
        """Moves adverts out of a property into a new one, which is returned."""
        body = {"advertFlxIds": list(advert_ids)}
        request = Request.change("POST", f"{ROOT}/properties/{property_id}/split", body)
        return cast(types.DecidedProperty, self._transport.data(request))

    def reports(self, *, skip: int = 0, take: int = 20) -> list[types.OperationReport]:
        """Returns reports of imports and ingestions, newest first."""
        request = Request.get(f"{ROOT}/reports", skip=skip, take=take)
        return cast(list[types.OperationReport], self._transport.data(request))

    def model(self) -> types.ModelInUse:
        """Returns the model that values homes, and its newest report card."""
        return cast(types.ModelInUse, self._transport.data(Request.get(f"{ROOT}/model")))

    def jobs(self, *, skip: int = 0, take: int = 20) -> list[types.Job]:
        """Returns pages that are being collected or were collected recently, newest first."""
        request = Request.get(f"{ROOT}/jobs", skip=skip, take=take)
        return cast(list[types.Job], self._transport.data(request))

    def findings(self) -> list[types.Finding]:
        """Returns what is missing, old or wrong in the data folder, the most urgent first."""
        request = Request.get(f"{ROOT}/findings")
        return cast(list[types.Finding], self._transport.data(request))

    def dead_letters(self, *, limit: int | None = None) -> Pages[Any]:
        """Returns the deliveries of all accounts that were given up."""
        take = page_size(limit, PAGE_MAX)

        def fetch(cursor: str | None) -> Page[Any]:
            request = Request.get(f"{ROOT}/alerts/dead-letters", skip=cursor or 0, take=take)
            return Page.skipping(self._transport.data(request), cursor, take)

        return Pages(fetch, limit)

    def retry_delivery(self, delivery_id: str) -> types.RetriedDelivery:
        """Sends again a delivery that was given up."""
        request = Request.change("POST", f"{ROOT}/alerts/dead-letters/{delivery_id}/retry")
        return cast(types.RetriedDelivery, self._transport.data(request))

    def erase(
        self,
        *,
        phone: str | None = None,
        email: str | None = None,
        name: str | None = None,
        is_dry_run: bool = False,
    ) -> types.Erasure:
        """Removes the contacts of a person from everything that is stored, and keeps them out of later adverts.

        Args:
            phone: telephone number, in any spelling.
            email: email address.
            name: whole name of the private seller or contact person.
            is_dry_run: whether only to report what would be removed.
        """
        given = {"phone": phone, "email": email, "name": name}
        body: dict[str, Any] = {contact: text for contact, text in given.items() if text is not None}
        request = Request("POST", f"{ROOT}/erasures", {**body, "dryRun": is_dry_run}, timeout_s=ERASURE_TIMEOUT_S)
        return cast(types.Erasure, self._transport.data(request))


def _day(value: date | str | None) -> str | None:
    return value.isoformat() if isinstance(value, date) else value
