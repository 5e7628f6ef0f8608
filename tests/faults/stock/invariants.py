"""The invariants of a hot SKU, by name."""

from tests.kit import invariants

CONSERVED = invariants.STOCK
NEGATIVE = invariants.NEGATIVE
COUNTED = "a row of stock exists exactly if the first row counts it"
REFUSED = "an order is out of stock only if all rows together were too short at one moment of the call"
CONTENTION = "no order fails because others write the same rows"
OUTCOME = "without a fault an order fails only if it is out of stock"
RESERVED = "an order that succeeds has its lines reserved, and one that is undone has nothing"
CHANGED = "a change of stock says what was there, and what is"
SPREAD = "a command that answers has done what it says"
LISTED = "the list of stock counts every row"
ENDS = "every order and every command ends"
