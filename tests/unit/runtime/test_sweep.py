"""The order of a sweep."""

from runtime.sweep import in_turns


def test_a_backlog_of_one_tenant_comes_behind_the_first_of_each_other() -> None:
    found = [*(f"big-{number}" for number in range(1000)), "one-1", "two-1", "two-2"]
    order = in_turns(found, lambda name: name.partition("-")[0])

    assert sorted(order) == sorted(found)
    assert {name.partition("-")[0] for name in order[:3]} == {"big", "one", "two"}
    assert {"two-1", "two-2"} <= set(order[:5])
    assert order[5:] != found[3:1000]
