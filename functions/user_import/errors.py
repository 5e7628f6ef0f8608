"""Reasons for a failed row or import. A class name is a stable code; `outcomes` has the message for users.

No message contains row data, because Step Functions keeps messages in the execution history.

BusinessError
├── InvalidRow          the row breaks a rule; Connect was not called
├── ConnectError        Connect rejected a row, or what the import needs of its instance
└── ImportRefused       the import as a whole cannot continue
TransientError
├── ConnectThrottled, ConnectUnavailable, UserNotVisible, InstanceAliasInUse
└── BucketUnavailable   of runtime.objects
"""

from idempotency import BusinessError, TransientError


class InvalidRow(BusinessError):
    """The row breaks a rule. Found before any call to Connect."""


class WrongColumnCount(InvalidRow): ...


class QuoteNotDoubled(InvalidRow):
    """Text, or a space, follows a closing quote."""


class RowSpansLines(InvalidRow):
    """The row has wrong quotes or too many cells, and lines of the file that may be other rows."""


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


class FirstNameNotAllowed(InvalidRow): ...


class LastNameMissing(InvalidRow): ...


class LastNameTooLong(InvalidRow): ...


class LastNameNotAllowed(InvalidRow): ...


class EmailInvalid(InvalidRow): ...


class PhoneInvalid(InvalidRow): ...


class SecurityProfileNotAllowed(InvalidRow): ...


class SecurityProfileUnknown(InvalidRow): ...


class RoutingProfileUnknown(InvalidRow): ...


class ConnectError(BusinessError):
    """Connect rejected the call and did nothing."""


class UserExists(ConnectError): ...


class UserQuotaExceeded(ConnectError): ...


class ConnectRefused(ConnectError): ...


class ConnectDenied(ConnectError): ...


class InstanceNotFound(ConnectError): ...


class ImportRefused(BusinessError):
    """The import cannot continue. The message names the field, file or limit, and says what to do."""


class InvalidImport(ImportRefused):
    """The input of the workflow, or of one of its functions, is wrong. The message starts with the field."""


class NoImportFile(ImportRefused):
    """The file or its version does not exist, or the function may not read it."""


class UploadNameInvalid(ImportRefused):
    """The name of an uploaded file is not the prefix and a valid date: nothing imports it, and it never expires."""


class InvalidHeader(ImportRefused):
    """The first line does not name the columns."""


class WrongEncoding(ImportRefused):
    """A row is not in the file's encoding, so no row can be trusted."""


class UnclosedQuote(ImportRefused):
    """A quoted field has no end, so the rows after it cannot be located."""


class RowTooLong(ImportRefused):
    """A row is longer than any user; probably a quote is not closed."""


class TooManyRows(ImportRefused):
    """More rows than one Map can carry."""


class TooManyProfiles(ImportRefused):
    """More profiles in one file than the state data can carry."""


class InvalidResultFile(ImportRefused):
    """`retry_of` is not a result of this file."""


class InstanceAliasInvalid(ImportRefused):
    """The alias that the stack would give its instance is invalid."""


class InstanceCreationFailed(ImportRefused):
    """Connect failed to create the instance."""


class InstanceNotReady(ImportRefused):
    """The instance, or its profiles, did not appear in time."""


class InstanceQuotaExceeded(ImportRefused):
    """The account's quota of instances, or of their creation, is used up."""


class ConnectThrottled(TransientError):
    """Connect throttled the call for as long as the function could wait. Nothing happened."""


class ConnectUnavailable(TransientError):
    """Connect failed, or its answer was lost. The call may or may not have taken effect."""


class UserNotVisible(TransientError):
    """Connect says that the user exists but does not list it yet, so its owner is unknown."""


class InstanceAliasInUse(TransientError):
    """The alias belongs to another stack's instance, or to one that is still being deleted."""
