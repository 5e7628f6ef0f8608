"""Seven hundred schedules of applications; `make faults-people` plays ten thousand others."""

from tests.faults.actors.suite import Explored
from tests.faults.people.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.people.schedule import KINDS

SCHEDULES = 700


class TestPeople(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(10001, 10001 + SCHEDULES)
    replayed = "people 24", 20

    def test_applications_and_approvals_end_in_every_way(self, totals: Totals) -> None:
        assert min(totals.ends[end] for end in ("APPROVED", "REJECTED", "FAILED")) > SCHEDULES // 20
        assert set(totals.approvals) == {"APPROVED", "REJECTED", "EXPIRED", "CANCELLED"}
        refusals = {"AlreadyDecided", "ApprovalExpired", "ApprovalCancelled", "OwnRequest", "not-in-group"}
        assert refusals < set(totals.answers)

    def test_every_function_is_hit_at_every_kind_of_call(self, totals: Totals) -> None:
        hit = {(function, operation) for function, operation, _ in totals.hits}
        assert {call for call, number in totals.calls.items() if number > SCHEDULES // 5} <= hit

    def test_cards_are_made_looked_up_and_cancelled_at_the_processor_with_faults(self, totals: Totals) -> None:
        cards = {"IssueCardFunction", "CancelCardFunction"}
        hit = {operation for function, operation, _ in totals.hits if function in cards}
        assert {"CreateCard", "LookUpCard", "CancelCard"} <= hit
