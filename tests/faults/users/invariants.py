"""The invariants of user imports, by name."""

TRUE = (
    "a success is the user that Connect holds for this row: its cells, its file, its password unless it says otherwise"
)
CODE = "a row fails for what is wrong with it, or for a fault"
# A later attempt whose lookup of an earlier one is refused reports that: then the code is that of the lookup.
HARMLESS = "a code that says that Connect did nothing has no user, unless SearchUsers does not show it or is refused"
DEFECT = "no fault that passes ends a row or an import in UnexpectedFailure"
ONCE = "an import creates no user of a row again whose outcome it has recorded"
ASKED = "a user is created as the row of the pinned version says, and only by an import that may create it"
INSTANCE = "a stack has one instance, however many imports create it"
ANNOUNCED = "no user is created before the result file of its import is written"
COMPLETE = "a result file has each row of its version once, in order"
OWN = "a result file says whose it is, and is beside the import's first file unless a newer import has written there"
# S3's If-Match compares contents. So a put may replace a result whose very bytes were at the key before.
NEWEST = "no import replaces the result of one that began later, unless S3 cannot tell it from an earlier one"
FINAL = "what an import has registered is not replaced by anything else of its own, with the same exception"
STATUS = "an import succeeds with a result of all outcomes, which its output counts; else it fails"
REFUSED = "an import that is refused has created no user"
STARTED = "an upload starts one import, however often its event arrives"
SAME = "a repeated call gives the same answer"
TOLD = "an import that ends by itself tells the topic, unless the topic refuses"
SECRET = "no cell of a row is in a result, record, history, input, answer, notice or log"
ENDS = "every execution ends"
FOUND = (
    "at last, an import without a fault has a success for every user that its file has made, and no other user is lost"
)
