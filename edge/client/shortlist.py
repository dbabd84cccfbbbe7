"""The client of the ranking service for Python 3.9 and later. It needs the standard library only."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from typing_extensions import NotRequired, Unpack

Id = Union[str, int]
Detail = Literal["scores", "metadata", "reasons", "history"]
Json = dict[str, Any]


class _ListFields(TypedDict, total=False):
    user_id: Id
    limit: int
    offset: int
    retrieval: Mapping[str, Any]
    exclude_seen: bool
    boosts: Sequence[Mapping[str, Any]]
    diversity: float
    exploration: float
    seed: int
    max_per_value: Mapping[str, int]
    pinned: Sequence[Id]
    user: Mapping[str, Any]
    context: Mapping[str, Any]
    item_ids: Sequence[Id]


class BareSimilarItemsFields(_ListFields, total=False):
    relation: Literal["similar", "together"]


class BareRankFields(_ListFields, total=False):
    interactions: Sequence[Mapping[str, Id]]
    session_id: Id
    seen: Literal["exclude", "include", "only"]
    strategy: Literal["auto", "popular", "trending", "newest"]


class SimilarItemsFields(BareSimilarItemsFields, total=False):
    scenario: str


class RankFields(BareRankFields, total=False):
    scenario: str


class RankedItems(TypedDict):
    """The answer of a call that sends `return_`. Each item has `item_id` and what was asked for."""

    items: list[Json]
    history: NotRequired[list[Json]]
    rank_id: str
    version: str
    strategy: str
    scenario: str | None
    arm: str | None
    ignored_interactions: int
    unknown_items: int


class _Event(TypedDict):
    user_id: Id
    item_id: Id
    type: str


class Event(_Event, total=False):
    event_id: str
    created_at: str
    value: float
    rank_id: str


class EventCounts(TypedDict):
    accepted: int
    duplicates: int


class _ItemChange(TypedDict):
    item_id: Id


class ItemChange(_ItemChange, total=False):
    attributes: Mapping[str, Any] | None
    hidden: bool
    at: str


class _ChangeCounts(TypedDict):
    changed: int
    ignored: int


class ChangeCounts(_ChangeCounts, total=False):
    new: int
    placed: str


class ShortlistError(Exception):
    """A call that failed. `code` is the problem's, or `timeout`, `network` or `unexpected_answer`; `status` is 0 without an answer."""

    def __init__(
        self,
        code: str,
        message: str,
        status: int = 0,
        errors: Sequence[Mapping[str, str]] = (),
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.errors = errors
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds


_RANK_SECONDS = 10.0
_MANAGEMENT_SECONDS = 40.0
_EVENTS_SECONDS = 60.0
_TRAINING_SECONDS = 6 * 3600.0
_ATTEMPTS_MAX = 3
_EVENT_ATTEMPTS_MAX = 8
_FIRST_WAIT_SECONDS = 0.25
_POLL_SECONDS = 2.0
_BATCH_EVENTS_MAX = 500
_BATCH_CHANGES_MAX = 1000
_BATCH_BYTES_MAX = 200_000


class Shortlist:
    """The calls of one edge with one key. Threads may share it: each has a connection of its own, which stays open."""

    def __init__(
        self, url: str, api_key: str, *, timeout: float | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """`timeout`: the seconds that a call may take with its retries. Default: 10 for ranking, 40 for management, 60 for events."""
        self._url = urlsplit(url)
        self._headers = {"x-api-key": api_key, **(headers or {})}
        self._timeout = timeout
        self._local = threading.local()

    @overload
    def rank(
        self, model: str, *, return_: Sequence[Detail], timeout: float | None = None, **fields: Unpack[RankFields]
    ) -> RankedItems: ...
    @overload
    def rank(self, model: str, *, timeout: float | None = None, **fields: Unpack[BareRankFields]) -> list[Id]: ...
    @overload
    def rank(
        self, model: str, *, timeout: float | None = None, **fields: Unpack[RankFields]
    ) -> list[Id] | RankedItems: ...
    def rank(self, model: str, *, timeout: float | None = None, **fields: Any) -> Any:
        """The items that a user, a session or both should see, best first. With `return_`, the answer is an object."""
        return self.call("POST", f"{_path(model)}/rank", _body(fields), timeout=timeout, default=_RANK_SECONDS)

    @overload
    def similar_items(
        self,
        model: str,
        item_id: Id | None = None,
        *,
        return_: Sequence[Detail],
        timeout: float | None = None,
        **fields: Unpack[SimilarItemsFields],
    ) -> RankedItems: ...
    @overload
    def similar_items(
        self,
        model: str,
        item_id: Id | None = None,
        *,
        timeout: float | None = None,
        **fields: Unpack[BareSimilarItemsFields],
    ) -> list[Id]: ...
    @overload
    def similar_items(
        self,
        model: str,
        item_id: Id | None = None,
        *,
        timeout: float | None = None,
        **fields: Unpack[SimilarItemsFields],
    ) -> list[Id] | RankedItems: ...
    def similar_items(
        self, model: str, item_id: Id | None = None, *, timeout: float | None = None, **fields: Any
    ) -> Any:
        """Items that are similar to an item or to the basket `item_ids`, or chosen together with them, the best first."""
        body = _body({"item_id": item_id, **fields})
        return self.call("POST", f"{_path(model)}/similar_items", body, timeout=timeout, default=_RANK_SECONDS)

    def events(self, events: Event | Iterable[Event], *, timeout: float | None = None) -> EventCounts:
        """Stores events, up to 500 in a request. Retries send the same ids, so an event counts once."""
        given = [events] if isinstance(events, Mapping) else list(events)
        counts: EventCounts = {"accepted": 0, "duplicates": 0}
        for batch in _batches([{"event_id": uuid.uuid4().hex, **event} for event in given], _BATCH_EVENTS_MAX):
            answer = self.call(
                "POST",
                "/v0/events",
                {"events": batch},
                timeout=timeout,
                default=_EVENTS_SECONDS,
                attempts_max=_EVENT_ATTEMPTS_MAX,
            )
            counts["accepted"] += answer["accepted"]
            counts["duplicates"] += answer["duplicates"]
        return counts

    def change_items(self, model: str, items: Iterable[ItemChange], *, timeout: float | None = None) -> ChangeCounts:
        """
        Changes attributes of items, hides or adds items, up to 1000 in a request. If one is wrong, its request stores none, and later
        ones are not sent. `timeout` is that of a request.
        """
        total: Any = {"changed": 0, "ignored": 0}
        for batch in _batches([dict(item) for item in items], _BATCH_CHANGES_MAX):
            counts: Any = self.call("PATCH", f"{_path(model)}/items", {"items": batch}, timeout=timeout)
            for name in ("changed", "ignored", "new"):
                if name in counts:
                    total[name] = total.get(name, 0) + counts[name]
            if "placed" in counts and total.get("placed") != "after_training":
                total["placed"] = counts["placed"]
        return total

    def queue_item_changes(self, model: str) -> ItemChanges:
        """Collects changes: `with shortlist.queue_item_changes("shop") as changes: changes.add({"item_id": "i3", "hidden": True})`."""
        return ItemChanges(self, model)

    def find_items(
        self,
        model: str,
        *,
        search: str | None = None,
        retrieval: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Json:
        """Items whose id and texts have all words of `search`, and which pass `retrieval`; popular ones first."""
        query = {"search": search, "retrieval": retrieval and json.dumps(retrieval), "limit": limit, "offset": offset}
        return self.call("GET", f"{_path(model)}/items?{_search(query)}")

    def changed_items(self, model: str, *, limit: int | None = None, cursor: str | None = None) -> Json:
        """Changed and hidden items, in the order of their ids."""
        query = {"changed": "true", "limit": limit, "cursor": cursor}
        return self.call("GET", f"{_path(model)}/items?{_search(query)}")

    def view_item(self, model: str, item_id: Id) -> Json:
        """An item as rank calls see it."""
        return self.call("GET", f"{_path(model)}/items/{quote(str(item_id), safe='')}")

    def create_model(self, spec: Mapping[str, Any], *, timeout: float | None = None) -> Json:
        """Creates a model, whose training starts at once. Returns its record."""
        headers = {"idempotency-key": uuid.uuid4().hex}
        return self.call("POST", "/v0/models", spec, timeout=timeout, headers=headers)

    def dry_run(self, spec: Mapping[str, Any], *, timeout: float | None = None) -> Json:
        """Checks a specification against its sources, and creates nothing."""
        return self.call("POST", "/v0/models?dry_run=true", spec, timeout=timeout)

    def list_models(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: str | None = None,
        name_contains: str | None = None,
    ) -> Json:
        query = {"limit": limit, "cursor": cursor, "status": status, "name_contains": name_contains}
        return self.call("GET", f"/v0/models?{_search(query)}")

    def view_model(self, model: str) -> Json:
        return self.call("GET", _path(model))

    def change_model(self, model: str, change: Mapping[str, Any]) -> Json:
        """A JSON merge patch of schema, connectors or schedule."""
        return self.call("PATCH", _path(model), change)

    def delete_model(self, model: str) -> Json:
        return self.call("DELETE", _path(model), is_repeatable=False)

    def train_model(self, model: str, *, ignore: Sequence[str] = ()) -> Json:
        """`ignore=["source_shrunken"]` publishes although a source has lost rows or values."""
        body = {"ignore": list(ignore)} if ignore else {}
        return self.call("POST", f"{_path(model)}/train", body, is_repeatable=False)

    def wait_for_training(
        self, model: str, *, timeout: float = _TRAINING_SECONDS, on_record: Callable[[Json], object] | None = None
    ) -> Json:
        """Returns the model's record when no training is under way. Raises the failure of a training that failed."""
        deadline = time.monotonic() + timeout
        while True:
            record = self.view_model(model)
            if on_record:
                on_record(record)
            state = record["training"]["state"]
            if state == "IDLE":
                return record
            if state == "FAILED":
                raise ShortlistError(record["failure"]["code"], record["failure"]["message"])
            if time.monotonic() > deadline:
                raise ShortlistError("timeout", f"{model} is still in training.")
            time.sleep(_POLL_SECONDS)

    def list_runs(self, model: str) -> Json:
        return self.call("GET", f"{_path(model)}/runs")

    def list_versions(self, model: str) -> Json:
        return self.call("GET", f"{_path(model)}/versions")

    def activate_version(self, model: str, version: str) -> Json:
        return self.call("POST", f"{_path(model)}/versions/{quote(version, safe='')}/activate", {})

    def view_evaluation(self, model: str) -> Json:
        return self.call("GET", f"{_path(model)}/evaluation")

    def evaluate(self, model: str, question: Mapping[str, Any]) -> Json:
        """The live version's metrics for given users or items, for each value of an attribute, or with a scenario."""
        return self.call("POST", f"{_path(model)}/evaluation", question)

    def list_scenarios(self, model: str) -> Json:
        return self.call("GET", f"{_path(model)}/scenarios")

    def view_scenario(self, model: str, name: str) -> Json:
        return self.call("GET", _scenario_path(model, name))

    def store_scenario(self, model: str, name: str, scenario: Mapping[str, Any]) -> Json:
        return self.call("PUT", _scenario_path(model, name), scenario)

    def delete_scenario(self, model: str, name: str) -> Json:
        return self.call("DELETE", _scenario_path(model, name), is_repeatable=False)

    def put_experiment(self, model: str, experiment: Mapping[str, Any]) -> Json:
        """Begins an experiment, or changes the shares of the running one of the same name."""
        return self.call("PUT", f"{_path(model)}/experiment", experiment)

    def view_experiment(self, model: str) -> Json:
        """Which arm of the running experiment is better so far."""
        return self.call("GET", f"{_path(model)}/experiment")

    def end_experiment(self, model: str, end: Mapping[str, Any] = {}) -> Json:
        """Ends the running experiment. The arm that `{"keep": …}` names becomes permanent."""
        return self.call("DELETE", f"{_path(model)}/experiment", end, is_repeatable=False)

    def create_batch(self, model: str, batch: Mapping[str, Any] = {}) -> Json:
        """Begins to make the lists of many users as files, or the users of some items."""
        return self.call("POST", f"{_path(model)}/batches", batch, is_repeatable=False)

    def view_batch(self, model: str, batch_id: str) -> Json:
        return self.call("GET", f"{_path(model)}/batches/{quote(batch_id, safe='')}")

    def stop_batch(self, model: str, batch_id: str) -> Json:
        return self.call("DELETE", f"{_path(model)}/batches/{quote(batch_id, safe='')}")

    def view_user_events(self, user_id: Id) -> Json:
        """The user's recent events, the newest first."""
        return self.call("GET", f"/v0/users/{quote(str(user_id), safe='')}/events")

    def view_live(self) -> Json:
        """What happened in the last hour, minute by minute."""
        return self.call("GET", "/v0/live")

    def view_health(self) -> Json:
        """What is wrong or will soon be, with remedies."""
        return self.call("GET", "/v0/health")

    def merge_users(self, user_id: Id, from_: Id) -> Json:
        """Says that two ids are one person: the events of `from_` count as the user's from the next call on, for good."""
        return self.call("POST", f"/v0/users/{quote(str(user_id), safe='')}/merge", {"from": from_})

    def erase_user(self, user_id: Id) -> Json:
        """Erases a user from all models, for good."""
        return self.call("POST", "/v0/users/erase", {"user_id": user_id})

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        default: float = _MANAGEMENT_SECONDS,
        attempts_max: int = _ATTEMPTS_MAX,
        is_repeatable: bool = True,
    ) -> Json:
        """
        Any call of the API. The answer is an object, or a list for rank calls without `return_`.
        `is_repeatable=False`: the call is not sent again while it is unknown whether it took effect.
        """
        deadline = time.monotonic() + (timeout or self._timeout or default)
        data = None if body is None else json.dumps(body).encode()
        sent = {**self._headers, **({"content-type": "application/json"} if data else {}), **(headers or {})}
        attempt = 1
        while True:
            try:
                answer: Json = self._call_once(method, path, data, sent, deadline, is_repeatable)
                return answer
            except ShortlistError as error:
                backoff = error.retry_after_seconds or _FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
                wait = backoff * (1 + random.random() / 2)  # callers that failed together come back apart
                is_passing = error.status == 429 or (is_repeatable and (error.status == 0 or error.status > 500))
                if not is_passing or attempt == attempts_max or time.monotonic() + wait > deadline:
                    raise
                time.sleep(wait)
                attempt += 1

    def _call_once(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str], deadline: float, may_reuse: bool
    ) -> Any:
        kept = self._kept_connection() if may_reuse else None
        try:
            try:
                response, text = self._exchange(kept or self._connect(), method, path, data, headers, deadline)
            except (http.client.RemoteDisconnected, ConnectionError):
                if kept is None:
                    raise
                # The other side had closed an idle connection.
                response, text = self._exchange(self._connect(), method, path, data, headers, deadline)
        except TimeoutError as cause:
            raise ShortlistError("timeout", f"{method} {path} took too long.") from cause
        except (OSError, http.client.HTTPException) as cause:
            raise ShortlistError("network", f"{method} {path} had no answer: {cause}") from cause
        answer = _json_in(text)
        if response.status < 300 and answer is not None:
            return answer
        problem = answer if isinstance(answer, dict) else {}
        retry_after = response.getheader("retry-after") or ""
        raise ShortlistError(
            problem.get("code", "unexpected_answer"),
            problem.get("detail", f"The answer has status {response.status} and is no problem."),
            response.status,
            problem.get("errors", ()),
            response.getheader("x-request-id"),
            float(retry_after) if retry_after.isdigit() else None,
        )

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self._local.connection = None  # kept again only after a complete answer
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        connection.timeout = seconds
        if connection.sock:
            connection.sock.settimeout(seconds)
        try:
            connection.request(method, self._url.path.rstrip("/") + path, data, dict(headers))
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        return response, text

    def _kept_connection(self) -> http.client.HTTPConnection | None:
        return getattr(self._local, "connection", None)

    def _connect(self) -> http.client.HTTPConnection:
        is_secure = self._url.scheme == "https"
        return (http.client.HTTPSConnection if is_secure else http.client.HTTPConnection)(self._url.netloc)


class ItemChanges:
    """
    Changes of a model's items that wait to be sent: 1000 at a time, the others by `flush()` or at the end of the `with` block. What could
    not be sent stays, so that `flush()` can be repeated. Threads may share it.
    """

    def __init__(self, client: Shortlist, model: str) -> None:
        self._client = client
        self._model = model
        self._waiting: list[ItemChange] = []
        self._lock = threading.Lock()

    def add(self, change: ItemChange) -> None:
        with self._lock:
            self._waiting.append(change)
            if len(self._waiting) >= _BATCH_CHANGES_MAX:
                self._send()

    def flush(self) -> None:
        """Returns once all changes are stored."""
        with self._lock:
            self._send()

    def _send(self) -> None:
        if self._waiting:
            self._client.change_items(self._model, self._waiting)
            self._waiting = []

    def __enter__(self) -> ItemChanges:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self.flush()


def _path(model: str) -> str:
    return f"/v0/models/{quote(model, safe='')}"


def _scenario_path(model: str, name: str) -> str:
    return f"{_path(model)}/scenarios/{quote(name, safe='')}"


def _search(query: Mapping[str, Any]) -> str:
    return urlencode({name: value for name, value in query.items() if value is not None})


def _body(fields: Mapping[str, Any]) -> Json:
    """Fields of a call. `return` is a word of Python, so its field is written `return_`."""
    return {name.rstrip("_"): value for name, value in fields.items() if value is not None}


def _batches(entries: Sequence[Json], count_max: int) -> Iterable[list[Json]]:
    batch: list[Json] = []
    size = 0
    for entry in entries:
        length = len(json.dumps(entry)) + 2
        if batch and (len(batch) == count_max or size + length > _BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch


def _json_in(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
