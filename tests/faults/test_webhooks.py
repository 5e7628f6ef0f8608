"""Four hundred schedules of webhooks; `make faults-webhooks` plays ten thousand different ones."""

from tests.faults.actors.suite import Explored
from tests.faults.webhooks.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.webhooks.schedule import KINDS

SCHEDULES = 400


class TestWebhooks(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(1001, 1001 + SCHEDULES)
    replayed = "webhooks 9", 20

    def test_deliveries_end_in_every_way(self, totals: Totals) -> None:
        assert min(totals.ends[end] for end in ("DELIVERED", "FAILED", "CANCELLED")) > SCHEDULES // 4
        assert min(totals.accepted, totals.resent) > SCHEDULES // 2
        assert min(totals.disabled, totals.refused) > SCHEDULES // 10

    def test_every_function_is_hit_at_every_kind_of_call(self, totals: Totals) -> None:
        hit = {(function, operation) for function, operation, _ in totals.hits}
        assert {call for call, number in totals.calls.items() if number > SCHEDULES // 2} <= hit
