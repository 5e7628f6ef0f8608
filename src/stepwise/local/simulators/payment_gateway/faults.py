"""Faults between a client and a card processor, each of which wraps the processing of a request."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, override

import msgspec

from stepwise.local.simulators import serving
from stepwise.local.simulators.serving import Answer, ConnectionLost, answer

from .messages import Kind, Request, Work, naming_key, problem

type Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=600_000)]
type FailureStatus = Literal[429, 500, 502, 503, 504]
# Runs some work after this many seconds, in another thread.
type Later = Callable[[float, Callable[[], object]], None]

_GARBAGE = {
    "not_json": b"<html><body>Bad Gateway</body></html>",
    "empty": b"",
    "wrong_shape": b'{"charge": ["ok"]}',
    "another_charge": b'{"id": "ch_0", "key": "another", "status": "succeeded", "amount": 1, "currency": "XXX"}',
}


class Fault(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A fault of one request."""

    def around(self, work: Work, later: Later) -> Work:
        """Wrap the work in this fault."""
        del later
        return partial(self.inject, work)

    def inject(self, work: Work, request: Request) -> Answer:
        """Process a request with this fault. Raises ConnectionLost."""
        raise NotImplementedError


class SlowBefore(Fault, tag="slow_before", frozen=True):
    """The request is delayed on its way: the processor does not know of it yet."""

    ms: Milliseconds

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        time.sleep(self.ms / 1000)
        return work(request)


class SlowWorking(Fault, tag="slow_working", frozen=True):
    """The charge takes long: its key is in use, and nothing is decided."""

    ms: Milliseconds

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        return work(replace(request, working_seconds=request.working_seconds + self.ms / 1000))


class SlowAfter(Fault, tag="slow_after", frozen=True):
    """The effect is immediate, the response late."""

    ms: Milliseconds

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        answer = work(request)
        time.sleep(self.ms / 1000)
        return answer


class FailsBefore(Fault, tag="fails_before", frozen=True):
    """An error without an effect."""

    status: FailureStatus = 500

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        return _failure(self.status)


class FailsAfter(Fault, tag="fails_after", frozen=True):
    """An error after the effect."""

    status: FailureStatus = 500

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        work(request)
        return _failure(self.status)


class RequestLost(Fault, tag="request_lost", frozen=True):
    """The connection closes before the processor has the request."""

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        raise ConnectionLost


class AnswerLost(Fault, tag="answer_lost", frozen=True):
    """The connection closes after the effect, before the response."""

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        work(request)
        raise ConnectionLost


class AnswerCut(Fault, tag="answer_cut", frozen=True):
    """The connection closes after the effect, in the middle of the response."""

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        answer = work(request)
        return replace(answer, sent_bytes=len(answer.body) // 2)


class DeliveredAgain(Fault, tag="delivered_again", frozen=True):
    """The network delivers the request again, after each of after_ms (0: at once). Those responses are dropped."""

    after_ms: Annotated[tuple[Milliseconds, ...], msgspec.Meta(min_length=1, max_length=20)] = (0,)

    @override
    def around(self, work: Work, later: Later) -> Work:
        def repeated(request: Request) -> Answer:
            for ms in self.after_ms:
                later(ms / 1000, partial(work, request))
            return work(request)

        return repeated


class Garbage(Fault, tag="garbage", frozen=True):
    """The effect and the status are right, the body is wrong."""

    body: Literal["not_json", "empty", "wrong_shape", "another_charge"] = "not_json"

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        return replace(work(request), body=_GARBAGE[self.body])


class Interim(Fault, tag="interim", frozen=True):
    """The response comes after interim responses, such as 103 (Early Hints) of a proxy in between."""

    statuses: Annotated[tuple[Literal[100, 102, 103], ...], msgspec.Meta(min_length=1, max_length=100)] = (103,)

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        return replace(work(request), interim=self.statuses)


class AnotherAnswer(Fault, tag="another_answer", frozen=True):
    """The effect is right, but the client gets the response to a request with another key."""

    status: Literal[200, 201, 400, 402, 404, 409] = 402

    @override
    def inject(self, work: Work, request: Request) -> Answer:
        work(request)
        return another_answer(self.status)


type AnyFault = (
    SlowBefore
    | SlowWorking
    | SlowAfter
    | FailsBefore
    | FailsAfter
    | RequestLost
    | AnswerLost
    | AnswerCut
    | DeliveredAgain
    | Garbage
    | Interim
    | AnotherAnswer
)


class Injection(serving.Injection, frozen=True):
    """A fault, and the requests that get it: those of a kind, and of one key or order, if given."""

    fault: AnyFault
    on: Literal["charge", "lookup", "cancel", "any"] = "any"
    key: str | None = None
    order_id: str | None = None

    def matches(self, kind: Kind, key: str, order_id: str | None) -> bool:
        return self.on in ("any", kind) and self.key in (None, key) and self.order_id in (None, order_id)


def another_answer(status: int) -> Answer:
    """Return a possible response of the processor to a request with another key."""
    codes = {400: "invalid_request", 402: "card_declined", 404: "not_found", 409: "key_canceled"}
    if status in codes:
        return naming_key(lambda _: problem(status, codes[status], "-"))(Request("charge", "another"))
    charge = {"id": "ch_0", "key": "another", "amount": 3000, "currency": "JPY"}
    return answer(status, {**charge, "status": "succeeded" if status == 201 else "canceled"})


def _failure(status: int) -> Answer:
    return problem(status, "rate_limited" if status == 429 else "processor_error", "try again with the same key")
