"""Faults at the edges of an order's life: lost records, a different payload, stray calls, operators, other orders.

Their notation is that of `faults`. Where one is injected, and where it lands:

    records deleted: ProcessPayment+ChargeCard after the saga    some of the order's records: of steps, and the lease
        records restored: ProcessPayment@ReserveInventory at last    from a backup when that state was entered; `@saga`,
                                                                     `@finalization`: when that had ended
    row put back: ProcessPayment@ReserveInventory at last        the row of a step, from a backup likewise
    operator runs recover--file after the finalization             a command: see `COMMANDS`
    finalization broken for 31 days, deleted: nothing            what TTL deletes meanwhile
    id reused, left: ChargeCard                                  the records that TTL has not deleted yet

A fault inside a second execution of the order is injected at `second.ProcessPayment#1`.
"""

EXPIRE = "records expire:"
DELETED = "records deleted:"
RESTORED = "records restored:"

STRAY_TWICE = "stray calls of"
FOREIGN = "foreign call of"
FOREIGN_TWICE = "foreign calls of"
FOREIGN_EXECUTION = "foreign execution of"
NEIGHBOR = "neighbor execution of"

ROW_LOST = "row lost:"
ROW_BACK = "row put back:"

OPERATOR = "operator runs"
FORGETS = "gateway forgets keys"

EXPIRED_EVENT = "event after expiry of"
RECOVERY_EVENT_LOST = "recovery event lost"
BROKEN = "finalization broken for 31 days, deleted:"
PLACED_AGAIN = "placed again, left:"
REUSED = "id reused, left:"

RECORD_KINDS = {
    EXPIRE: "these records expire and are still there, the others do not",
    DELETED: "all records expire, and TTL deletes these; those that are not to expire have no TTL",
    RESTORED: "these records are restored from a backup of an earlier moment",
}
# actions of others, with a landing
CALL_KINDS = {
    STRAY_TWICE: "somebody calls the function with the order, twice",
    FOREIGN: "somebody calls the function with a different payload under the order's id",
    FOREIGN_TWICE: "somebody calls the function with a different payload under the order's id, twice",
    FOREIGN_EXECUTION: "somebody starts the machine with a different payload under the order's id, under another name",
}
NEIGHBOR_KINDS = {NEIGHBOR: "another order of the same SKUs runs, and takes what but one piece is left"}
ROW_KINDS = {
    ROW_LOST: "somebody deletes the row of the step",
    ROW_BACK: "somebody puts the row of the step back as it was at an earlier moment",
}
OPERATOR_KINDS = {OPERATOR: "an operator gives a command"}
GATEWAY_KINDS = {FORGETS: "the gateway forgets its idempotency keys, and cancels that came before a charge"}
# once per run, at separate times
ONCE_KINDS = {
    EXPIRED_EVENT: "the status event of the machine is delivered again when TTL has deleted all that expires",
    RECOVERY_EVENT_LOST: "the status event of the recovery never arrives",
    BROKEN: "FinalizeOrder and SweepOrders fail for 31 days; all records expire meanwhile, and TTL deletes these",
    PLACED_AGAIN: "91 days later the order is placed again; executions are forgotten, all records but these deleted",
    REUSED: "91 days later another order is placed under the id; executions and records as before",
}
KINDS = {**RECORD_KINDS, **ROW_KINDS, **CALL_KINDS, **NEIGHBOR_KINDS, **OPERATOR_KINDS, **GATEWAY_KINDS, **ONCE_KINDS}

COMMANDS = {
    "recover": "recover ORDER_ID",
    "recover--file": "recover ORDER_ID --file, with the order as placed",
    "recover--other-file": "recover ORDER_ID --file, with the other payload",
    "release": "work release ORDER_ID ChargeCard",
    "resolve": "work resolve ORDER_ID ChargeCard, with what the gateway says of the charge",
}
# records of work under a lease, which an order has only if it is charged at a gateway
WORK_COMMANDS = frozenset({"release", "resolve"})
NOTHING = "nothing"


def records(at: str) -> list[str]:
    """Return the names of records in the text of a fault: `ProcessPayment+ChargeCard`, `...@MOMENT`, or `nothing`."""
    names, _, _ = at.partition("@")
    return [] if names == NOTHING else names.split("+")


def moment(at: str) -> str:
    """Return the place at which a backup was taken: `before ReserveInventory` for `ProcessPayment@ReserveInventory`."""
    _, _, name = at.partition("@")
    return _MOMENTS.get(name, f"before {name}")


def moment_name(place: str) -> str:
    """Return the notation of a place after the `@`."""
    return next((name for name, known in _MOMENTS.items() if known == place), place.removeprefix("before "))


_MOMENTS = {"saga": "after the saga", "finalization": "after the finalization"}
