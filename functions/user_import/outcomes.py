"""What became of a row, as it travels in state data, and the sentence that tells a person how to mend it."""

import re
from dataclasses import dataclass

_CODE = re.compile(r"[A-Za-z0-9_.]{1,80}\Z")
_TRY_AGAIN = "Run the failed rows again."

# What a row has as long as nothing else is known of it.
NOT_REGISTERED = "NotRegistered"
# The only code of a row that succeeded. In state data, where every byte counts, it is one character.
PASSWORD_NOT_SET, _PASSWORD_NOT_SET = "PasswordNotSet", "="

SENTENCES = {
    "WrongEncoding": "The row is not in the encoding of the import. Save the file as CSV in UTF-8.",
    "WrongColumnCount": "The row has more or fewer cells than the header. Put a cell with a comma in double quotes.",
    "UsernameMissing": "Give a username.",
    "UsernameTooLong": "Shorten the username to 20 characters.",
    "UsernameInvalid": "Use only letters a-z, digits and _ - . @ in the username, and no space.",
    "UsernameNotEmail": "A username with @ must be a whole e-mail address.",
    "UsernameRepeated": "An earlier row has the same username. Give each user one row.",
    "PasswordMissing": "Give a default password.",
    "PasswordTooShort": "Make the password at least 8 characters long.",
    "PasswordTooLong": "Make the password at most 64 characters long.",
    "PasswordHasSpace": "Take the space or line break out of the password.",
    "PasswordTooWeak": "Put a lower-case letter, an upper-case letter and a digit into the password.",
    "FirstNameMissing": "Give a first name.",
    "FirstNameTooLong": "Shorten the first name to 255 characters.",
    "FirstNameNotNormalized": "Type the first name's accents anew, as single characters (Unicode NFC).",
    "LastNameMissing": "Give a last name.",
    "LastNameTooLong": "Shorten the last name to 256 characters.",
    "LastNameNotNormalized": "Type the last name's accents anew, as single characters (Unicode NFC).",
    "EmailInvalid": "Correct the e-mail address, or leave it empty.",
    "PhoneInvalid": "Write the phone number as + and up to 15 digits, country first, or leave it empty.",
    "SecurityProfileNotAllowed": "Leave the security profile empty, or have it added to AllowedSecurityProfiles.",
    "SecurityProfileUnknown": "The instance has no security profile of this name. Correct it, or create the profile.",
    "RoutingProfileUnknown": "The instance has no routing profile of this name. Correct it, or create the profile.",
    "UserExists": "A user of this name exists already and was left as it is. Choose another username, or drop the row.",
    PASSWORD_NOT_SET: "The user was there, created from this row before. If its password is new, set it in Connect.",
    "UserQuotaExceeded": "The instance is full. Raise its quota of users, then run the failed rows again.",
    "ConnectRefused": "Connect refuses the row by a rule unknown here. Add an e-mail address, or check every cell.",
    "ConnectDenied": "The import lacks a permission in Connect. Have it granted, then run the failed rows again.",
    "InstanceNotFound": "The instance, or a profile in it, is gone. Start the import again.",
    "ConnectThrottled": f"Connect had no room for the row. {_TRY_AGAIN}",
    "ConnectUnavailable": f"Connect did not answer; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "UserNotVisible": f"Connect says that the user exists and does not show it. {_TRY_AGAIN}",
    "InstanceAliasInUse": f"The instance is still being set up. {_TRY_AGAIN}",
    "BucketUnavailable": f"The file could not be read. {_TRY_AGAIN}",
    "NoImportFile": "The file, or its version, was deleted while the import ran. Upload it again.",
    "AlreadyInProgress": f"Another call was at work on the row. {_TRY_AGAIN} Nobody is created twice.",
    "Contention": f"Too many calls were writing at once. {_TRY_AGAIN}",
    "LeaseLost": f"The row took too long. {_TRY_AGAIN} Nobody is created twice.",
    "StoreUnavailable": f"The records of the import could not be reached. {_TRY_AGAIN} Nobody is created twice.",
    "UnexpectedFailure": "The row hit a defect of the import. An operator finds it in the log of UserCreate.",
    "States.Timeout": f"The row took too long; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "Lambda.Unknown": f"The function broke off; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "Runtime.ExitError": f"The function broke off; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "Runtime.OutOfMemory": f"The function ran out of memory; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "Sandbox.Timedout": f"The row took too long; the user may exist. {_TRY_AGAIN} Nobody is created twice.",
    "Lambda.TooManyRequestsException": f"The account had no room for the function. {_TRY_AGAIN}",
    "Lambda.ServiceException": f"Lambda failed. {_TRY_AGAIN} Nobody is created twice.",
    "Lambda.AWSLambdaException": f"Lambda failed. {_TRY_AGAIN} Nobody is created twice.",
    "Lambda.SdkClientException": f"Lambda could not be reached. {_TRY_AGAIN} Nobody is created twice.",
    "Lambda.ClientExecutionTimeoutException": f"Lambda did not answer. {_TRY_AGAIN} Nobody is created twice.",
    NOT_REGISTERED: f"The import ended before the row's outcome was known; the user may exist. {_TRY_AGAIN}",
}
_UNLISTED = f"The row failed; an operator finds the reason in the execution. {_TRY_AGAIN} Nobody is created twice."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row. number: the row. code: "" or PASSWORD_NOT_SET for success. user_id: "" without a user."""

    number: int
    code: str = ""
    user_id: str = ""

    def __str__(self) -> str:
        return f"{self.number}:{self.ending}"

    @property
    def ending(self) -> str:
        """All but the number, as the row's lease keeps it."""
        code = _PASSWORD_NOT_SET if self.code == PASSWORD_NOT_SET else self.code
        return f"{code}:{self.user_id}"

    @classmethod
    def parse(cls, text: str) -> "Outcome":
        """The opposite of str(). Raises ValueError."""
        number, _, rest = text.partition(":")
        code, _, user_id = rest.rpartition(":")
        return cls(int(number), PASSWORD_NOT_SET if code == _PASSWORD_NOT_SET else code, user_id)

    @property
    def succeeded(self) -> bool:
        return self.code in ("", PASSWORD_NOT_SET)

    @property
    def message(self) -> str:
        """Code and sentence; "" without a code."""
        return explained(self.code) if self.code else ""


def explained(code: str) -> str:
    """A code, followed by what a person can do about it."""
    known = code if _CODE.match(code) else "Unknown"
    return f"{known}: {SENTENCES.get(known, _UNLISTED)}"
