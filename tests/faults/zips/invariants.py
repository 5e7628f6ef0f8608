"""The invariants of ZIPs, by name. Those of imports hold for each child."""

TOTAL = "a ZIP's counters are the sum of its children's"
REFUSED = "an archive is refused if it lies, and with its reason"
CHILDLESS = "no child is started of a ZIP that was refused, was stopped, or has ended"
CLEAN = "nothing is left behind of a ZIP that was refused"
LAST = "a ZIP ends after its children, and with their status"
