"""The Idempotency-Key: a repeated request gets the stored answer, by the layer's leases.

The rules are those of Stripe: an answer is stored once the work has begun, be it a success or a final error. What is
invalid, and what failed for now, is not stored: the same request may be repeated. Another one is refused as long as the
first may have taken effect.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from idempotency import AlreadyInProgress, LeaseStore, PayloadMismatch, ResultUnavailable, Unknown, Work

from .answer import Answer, NotYet, Problem
from .request import Request

LIFETIME = timedelta(days=2)
"""Of a stored answer, from its last write."""
# Whatever the API starts is named after the key, so a second attempt finds what the first has done.
WORK = Work("HttpRequest", unknown=Unknown.RUN_AGAIN, final=(), harmless=(NotYet,))


def once(store: LeaseStore, request: Request, deadline: datetime, run: Callable[[], Answer]) -> Answer:
    """Run the request, or find its stored answer.

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
