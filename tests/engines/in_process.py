"""Engines that answer in the test's own process: the local stack's DynamoDB, and moto's."""

import threading
from functools import cache

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.engines.engine import Engine, response

_one_at_a_time = threading.Lock()


@cache
def ministack() -> Engine:
    """The local stack's DynamoDB without its server. As there, requests are carried out one after the other."""
    from ministack.services import dynamodb

    def answer(request: AWSPreparedRequest) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        headers = {"x-amz-target": target.decode() if isinstance(target, bytes) else target}
        with _one_at_a_time:
            try:
                dynamodb.handle_request("POST", "/", headers, request.body, {}).send(None)
            except StopIteration as finished:
                return response(*finished.value)
        raise RuntimeError(f"{target!r} did not end at once")

    return Engine("ministack", "http://in-process", answer)


@cache
def moto() -> Engine:
    """moto's DynamoDB. It is asked directly, so that nothing of botocore is patched for others."""
    from moto.core.models import botocore_stubber

    def answer(request: AWSPreparedRequest) -> AWSResponse:
        answered = botocore_stubber.process_request(request)
        if answered is None:
            raise RuntimeError("moto does not know this request")
        return response(*answered)

    return Engine("moto", "https://dynamodb.us-east-1.amazonaws.com", answer)
