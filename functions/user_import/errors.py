"""Why a row, or an import, fails. A class name is a stable code: `outcomes` has the sentence that goes with it.

No message holds anything of a row: Step Functions keeps messages in the history of the execution.

BusinessError
├── InvalidRow          the row breaks a rule; Connect was not asked
├── ConnectError        Connect was asked, and refused: a row, or what the import needs of its instance
└── ImportRefused       the import as a whole cannot go on
TransientError
├── ConnectThrottled, ConnectUnavailable, UserNotVisible, InstanceAliasInUse
└── BucketUnavailable
"""

from idempotency import BusinessError, TransientError


class InvalidRow(BusinessError):
    """The row breaks a rule. Found before any call to Connect."""


class WrongColumnCount(InvalidRow): ...


class UsernameMissing(InvalidRow): ...


class UsernameTooLong(InvalidRow): ...


class UsernameInvalid(InvalidRow): ...


class UsernameNotEmail(InvalidRow): ...


class UsernameRepeated(InvalidRow): ...


class PasswordMissing(InvalidRow): ...


class PasswordTooShort(InvalidRow): ...


class PasswordTooLong(InvalidRow): ...


class PasswordHasSpace(InvalidRow): ...


class PasswordTooWeak(InvalidRow): ...


class FirstNameMissing(InvalidRow): ...


class FirstNameTooLong(InvalidRow): ...


class FirstNameNotNormalized(InvalidRow): ...


class LastNameMissing(InvalidRow): ...


class LastNameTooLong(InvalidRow): ...


class LastNameNotNormalized(InvalidRow): ...


class EmailInvalid(InvalidRow): ...


class PhoneInvalid(InvalidRow): ...


class SecurityProfileNotAllowed(InvalidRow): ...


class SecurityProfileUnknown(InvalidRow): ...


class RoutingProfileUnknown(InvalidRow): ...


class ConnectError(BusinessError):
    """Connect was asked and refused; it did nothing."""


class UserExists(ConnectError): ...


class UserQuotaExceeded(ConnectError): ...


class ConnectRefused(ConnectError): ...


class ConnectDenied(ConnectError): ...


class InstanceNotFound(ConnectError): ...


class ImportRefused(BusinessError):
    """The import cannot go on. The message says which field, file or limit is the reason, and what to do."""


class InvalidImport(ImportRefused):
    """The input of the workflow, or of one of its functions, is wrong. The message starts with the field."""


class NoImportFile(ImportRefused):
    """There is no file to import, not in this version, or not for this function to read."""


class UploadNameInvalid(ImportRefused):
    """A file was uploaded whose name has the prefix and no date of the calendar after it: nothing imports it."""


class InvalidHeader(ImportRefused):
    """The first line does not name the columns."""


class WrongEncoding(ImportRefused):
    """A row is not in the file's encoding, so no row can be trusted."""


class UnclosedQuote(ImportRefused):
    """A quoted field has no end, so where the rows after it begin cannot be known."""


class RowTooLong(ImportRefused):
    """A row is longer than any user; most likely a quote is not closed."""


class TooManyRows(ImportRefused):
    """More rows than one Map can carry."""


class TooManyProfiles(ImportRefused):
    """More profiles in one file than the rows can carry along."""


class InvalidResultFile(ImportRefused):
    """`retry_of` is no result of this file."""


class InstanceAliasInvalid(ImportRefused):
    """No instance can have the alias that the stack is to give it."""


class InstanceCreationFailed(ImportRefused):
    """Connect gave the creation of the instance up."""


class InstanceNotReady(ImportRefused):
    """The instance, or its profiles, did not appear in time."""


class InstanceQuotaExceeded(ImportRefused):
    """The account may have, or create, no more instances."""


class ConnectThrottled(TransientError):
    """Connect had no room for the call within the time that the function has. Nothing happened."""


class ConnectUnavailable(TransientError):
    """Connect failed, or its answer was lost. The call may or may not have taken effect."""


class UserNotVisible(TransientError):
    """Connect says that the user exists and does not show it yet, so whose it is cannot be told."""


class InstanceAliasInUse(TransientError):
    """The alias belongs to an instance that is not ours, or that is still being deleted."""


class BucketUnavailable(TransientError):
    """S3 failed or its answer broke off."""
