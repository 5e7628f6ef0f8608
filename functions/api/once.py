"""The Idempotency-Key: a repeated request gets the stored response, by the layer's leases.

The rules are those of Stripe: once the work has begun, a response is stored, whether a success or a final error.
Invalid requests and temporary failures are not stored: the same request may be repeated. A different request is refused
as long as the first may have taken effect.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from idempotency import AlreadyInProgress, LeaseStore, PayloadMismatch, ResultUnavailable, Unknown, Work

from .answer import Answer, NotYet, Problem
from .request import Request

LIFETIME = timedelta(days=2)
"""Time that a stored response outlives its last write."""
# Whatever the API starts is named after the key, so a second attempt finds what the first one did.
WORK = Work("HttpRequest", unknown=Unknown.RUN_AGAIN, final=(), harmless=(NotYet,))


def once(store: LeaseStore, request: Request, deadline: datetime, run: Callable[[], Answer]) -> Answer:
    """Run the request, or return its stored response.

    Raises Problem (409 while another call has the key, 422 for a key of another request) and what `run` raises.
    """
    try:
        stored = store.run(WORK, request.digest, request.payload, lambda _: _final(run).stored, deadline=deadline)
    except AlreadyInProgress:
        raise Problem(409, "in-progress", "A request with this Idempotency-Key is in progress.", for_now=True) from None
    except PayloadMismatch:
        raise Problem(422, "key-reused", "This Idempotency-Key belongs to another request; use a new one.") from None
    except ResultUnavailable:
        raise Problem(409, "answer-too-large", "The work is done, but its answer could not be stored.") from None
    return Answer.of(stored)


def _final(run: Callable[[], Answer]) -> Answer:
    try:
        return run()
    except Problem as refused:
        if refused.for_now:
            raise
        return refused.answer
