"""The errors of accounts.

BusinessError
├── InvalidApplication      the call is refused; nothing is written
├── ApplicationNotFound     no application of this id was ever submitted
├── CustomerExists          another application made a customer of this name and date of birth
├── CardRefused             the card processor issues no card
├── StaleApplication        there is no such application, or it is decided; nothing is written
├── AccountNotOpened        the setup of the account has failed
├── DocumentMissing         there is no document of the application
└── CardProcessorRefused    the card processor rejects the request because of a fault on our side
TransientError
├── CardProcessorUnavailable    the card processor failed, is busy, or its answer was lost
├── SetupRunning            the setup of the account is still running
└── SweepUnfinished         some applications could not be looked at
"""

from idempotency import BusinessError, TransientError


class InvalidApplication(BusinessError):
    """The input is not valid. The message starts with the path of the field and never repeats a value."""


class ApplicationNotFound(BusinessError):
    """No application of this id was ever submitted."""


class CustomerExists(BusinessError):
    """Another application made a customer of this name and date of birth."""


class CardRefused(BusinessError):
    """The card processor issues no card. Nothing was issued."""


class StaleApplication(BusinessError):
    """There is no such application, or it is decided. Nothing is written."""


class AccountNotOpened(BusinessError):
    """The setup of the account has failed, and is undone or being undone."""


class DocumentMissing(BusinessError):
    """There is no document of the application."""


class SetupRunning(TransientError):
    """The setup of the account is still running."""


class CardProcessorRefused(BusinessError):
    """The processor rejects the request because of a fault on our side, such as the address or a credential."""


class CardProcessorUnavailable(TransientError):
    """The processor failed, is busy, or its answer was lost. It may have made a card; the next attempt looks it up."""
