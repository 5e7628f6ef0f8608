"""Many concurrent clients: no request is lost, none takes effect twice. Also the API's overhead over a bare start."""

import json
import os
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from stepwise.operations import orders
from stepwise.operations.stack import Stack
from tests.kit.bounded import Threads
from tests.kit.http_client import HttpClient
from tests.kit.local_stack import Document

# `make api-test` sends 1,000, and compares 50.
REQUESTS = int(os.environ.get("REQUESTS", "60"))
COMPARED = int(os.environ.get("COMPARED", "5"))
AT_ONCE = 20
MAX_ADDED_MILLISECONDS = 120
# Throttled, in flight, or unavailable for a moment: the same request again.
_AGAIN = {409, 429, 503}


@pytest.fixture
def client(stack: Stack) -> HttpClient:
    return HttpClient(stack.outputs["ApiUrl"], f"t{uuid.uuid4().hex[:12]}")


@pytest.mark.timeout(3000)
def test_no_request_is_lost_and_none_takes_effect_twice(
    stack: Stack, client: HttpClient, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [f"{number:04}-{uuid.uuid4().hex[:8]}" for number in range(REQUESTS)]
    seconds: list[float] = []
    repeated: list[int] = []

    def publish(code: str) -> int:
        own = {"pk": f"TENANT#{client.tenant_code}", "sk": f"PRODUCT#{code}", "id": code, "code": code, "name": "Tea"}
        attributes = {"category": "tea", "price": 1500, "currency": "JPY"}
        command = {**own, "type": "PRODUCT", "mode": "sync", "attributes": attributes}
        while True:
            answer = client.post("/commands", command, code)
            seconds.append(answer.elapsed.total_seconds())
            if answer.status_code not in _AGAIN:
                return answer.status_code
            repeated.append(answer.status_code)
            time.sleep(0.2)

    begun = time.monotonic()
    with Threads(AT_ONCE) as pool:
        answers = list(pool.map(publish, codes))
    took = time.monotonic() - begun
    published = {row["sk"]: row["version"] for row in stack.rows("DataTable") if row["pk"].endswith(client.tenant_code)}

    assert set(answers) == {200}
    assert published == {f"PRODUCT#{code}": 1 for code in codes}
    _say(
        capsys,
        requests=REQUESTS,
        at_once=AT_ONCE,
        repeated=Counter(repeated),
        per_second=round(REQUESTS / took, 1),
        **_latency(seconds),
    )


@pytest.mark.timeout(1000)
def test_api_adds_little_to_a_bare_start(
    stack: Stack, client: HttpClient, order: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    """It sends one request at a time. The next starts when the saga of the previous one has ended."""
    bare, by_api = [], []
    for number in range(COMPARED + 1):
        one, other = ({**order, "order_id": f"{order['order_id']}-{number}-{way}"} for way in ("bare", "api"))
        bare.append(_timed(stack, one, partial(_start, stack, one)))
        by_api.append(_timed(stack, other, partial(_place, client, other)))
    # The first of each is a cold start.
    added = statistics.median(by_api[1:]) - statistics.median(bare[1:])

    _say(capsys, compared=COMPARED, bare_ms=_median(bare), by_api_ms=_median(by_api), added_ms=round(added * 1000))
    assert added * 1000 <= MAX_ADDED_MILLISECONDS


def _timed(stack: Stack, order: Document, start: Callable[[], None]) -> float:
    begun = time.monotonic()
    start()
    took = time.monotonic() - begun
    orders.ended(stack, order["order_id"], seconds=120)
    return took


def _start(stack: Stack, order: Document) -> None:
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs["OrderSagaArn"], name=order["order_id"], input=json.dumps(order, sort_keys=True)
    )


def _place(client: HttpClient, order: Document) -> None:
    assert client.post("/orders", order).status_code == 202


def _median(seconds: list[float]) -> int:
    return round(statistics.median(seconds[1:]) * 1000)


def _latency(seconds: list[float]) -> dict[str, int]:
    found = statistics.quantiles(seconds, n=100)
    return {f"p{percent}_ms": round(found[percent - 1] * 1000) for percent in (50, 95, 99)}


def _say(capsys: pytest.CaptureFixture[str], **figures: object) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{json.dumps(figures)}\n")
