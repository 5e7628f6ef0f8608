"""The order in which a sweep looks at what it has found, because its time may run out."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import zip_longest


def in_turns[T](found: Iterable[T], tenant_of: Callable[[T], str]) -> list[T]:
    """One of each tenant, then another one of each, in random order.

    So a large backlog of one tenant does not delay the others', and what is left out differs from sweep to sweep.
    """
    by_tenant: defaultdict[str, list[T]] = defaultdict(list)
    for one in found:
        by_tenant[tenant_of(one)].append(one)
    queues = list(by_tenant.values())
    random.shuffle(queues)
    for queue in queues:
        random.shuffle(queue)
    missing = object()
    rounds = zip_longest(*queues, fillvalue=missing)
    return [one for turn in rounds for one in turn if one is not missing]  # type: ignore[misc]
