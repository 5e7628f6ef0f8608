import time, collections
import pytest
from operations import tasks as operations
from tests.integration.test_tasks import create, ended
pytestmark = pytest.mark.local_only("x")

@pytest.mark.timeout(1500)
def test_thousand(stack):
    t=time.time()
    key = create(stack, "big", "rebuild-read-model", *[{"pk":"TENANT#big","sk":f"PRODUCT#p{n}"} for n in range(1000)], task_id="big")
    t1=time.time()
    seen = ended(stack, key)
    t2=time.time()
    arn = f"{stack.outputs['TaskArn'].replace(':stateMachine:', ':execution:')}:{key.execution(1)}"
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
    kinds = collections.Counter(e["type"] for p in pages for e in p["events"])
    open("/tmp/thousand.txt","w").write(f"create {t1-t:.1f} s, run {t2-t1:.1f} s, {seen.task.values['status']} {collections.Counter(str(i.status) for i in seen.items)} {collections.Counter(i.error.type for i in seen.items if i.error)} events {sum(kinds.values())} {kinds}\n")
