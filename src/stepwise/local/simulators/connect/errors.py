"""Errors that the simulator returns."""


class ConnectError(Exception):
    """An error of Amazon Connect, by its code in the service model."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotSupported(Exception):
    """The simulator does not support this operation of Amazon Connect."""


def invalid_parameter(message: str) -> ConnectError:
    return ConnectError("InvalidParameterException", message)


def invalid_request(message: str) -> ConnectError:
    return ConnectError("InvalidRequestException", message)


def not_found(what: str) -> ConnectError:
    return ConnectError("ResourceNotFoundException", f"{what} was not found")
