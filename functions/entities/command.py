"""The input of PublishCommand. Invalid input is rejected here, before anything is written."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from idempotency import PayloadHash
from runtime.json_documents import read_document
from runtime.validation import parser
from runtime.values import Unstorable, json_size, storable

from .errors import AttributesTooLarge, InvalidCommand
from .types import Types

MAX_ATTRIBUTES = 100 * 1024
"""Maximum bytes of a command's attributes as JSON."""
MAX_VERSION = 10**9

type TenantCode = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,50}\Z")]
type Pk = Annotated[str, Meta(pattern=r"^TENANT#[A-Za-z0-9_-]{1,50}\Z")]
type Sk = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,50}(#[A-Za-z0-9_-]{1,100}){1,4}\Z")]
type Version = Annotated[int, Meta(ge=1, le=MAX_VERSION)]
type Text = Annotated[str, Meta(min_length=1, max_length=256)]


@dataclass(frozen=True, slots=True)
class Key:
    """The key of an entity, shared by its gate and its data row."""

    pk: str
    sk: str

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": self.sk}

    def at(self, version: int) -> dict[str, str]:
        """Return the key of one of its versions: of the command's row, and of the history's."""
        return {"pk": self.pk, "sk": f"{self.sk}@{version}"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One execution of a command. number: from 1; each retry by an operator adds one."""

    key: Key
    version: int
    number: int

    @property
    def name(self) -> str:
        """Name of the execution; at most 62 characters. Only a restore lets versions, and so names, come again."""
        digest = hashlib.sha256(f"{self.key.pk}\n{self.key.sk}".encode()).hexdigest()
        return f"{digest[:40]}-{self.version}-{self.number}"

    @property
    def input(self) -> dict[str, Any]:
        """Input of the execution."""
        return {**self.key.row, "version": self.version, "attempt": self.number}

    @property
    def row(self) -> dict[str, str]:
        """Key of the command's row."""
        return self.key.at(self.version)

    def __str__(self) -> str:
        return f"{self.key.sk}@{self.version}"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of an operator, kept on the command's row. at: ISO 8601."""

    move: str
    by: str
    reason: str
    at: str


class Command(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The input of PublishCommand. version: the one that it creates; UNSET for the next one."""

    pk: Pk
    sk: Sk
    id: Text
    code: Text
    name: Text
    type: Text
    tenant_code: TenantCode
    attributes: dict[str, Any]
    version: Version | UnsetType = UNSET
    merge: bool = False
    deleted: bool = False
    mode: Literal["async", "sync"] = "async"
    request_id: Text | UnsetType = UNSET

    @property
    def key(self) -> Key:
        return Key(self.pk, self.sk)

    @property
    def fields(self) -> dict[str, Any]:
        """All fields except `mode`; unset ones are omitted."""
        return {name: value for name, value in structs.asdict(self).items() if name != "mode" and value is not UNSET}

    def payload(self, version: int) -> PayloadHash:
        """Hash that tells a duplicate from another command of this version."""
        return PayloadHash.of({**self.fields, "version": version})


_parse = parser(Command, InvalidCommand, "the command", lines=["id", "code", "name", "type", "request_id"])


def publish_parser(types: Callable[[], Types]) -> Callable[[Any], Command]:
    """Return a function that reads a Command from JSON, parsed or as text. It raises InvalidCommand, naming the field.

    types: called for each command, because loading the types takes time, which other handlers do not need.
    """

    def parse_command(document: Any) -> Command:
        command = _storable(_parse(read_document(document, InvalidCommand, "the command")))
        _check_key(command, types())
        _check_version(command)
        _check_attributes(command, types())
        return command

    return parse_command


def _storable(command: Command) -> Command:
    try:
        return structs.replace(command, attributes=storable(command.attributes, "attributes"))
    except Unstorable as problem:
        raise InvalidCommand(str(problem)) from None


def _check_key(command: Command, types: Types) -> None:
    if command.pk != f"TENANT#{command.tenant_code}":
        raise InvalidCommand("pk: must be TENANT# and the tenant_code")
    owner = types.owner(command.sk)
    if owner and command.type != owner:
        raise InvalidCommand(f"type: must be {owner}, which every key {owner}#... belongs to")
    if types.of(command.type).code_in_sk and command.sk != f"{command.type}#{command.code}":
        raise InvalidCommand("sk: must be the type, # and the code")


def _check_version(command: Command) -> None:
    if command.version is UNSET and command.request_id is UNSET:
        raise InvalidCommand("request_id: required without a version, so that the call can be repeated")


def _check_attributes(command: Command, types: Types) -> None:
    if command.deleted and command.attributes:
        raise InvalidCommand("attributes: must be empty in a deletion")
    if command.deleted and command.merge:
        raise InvalidCommand("merge: must be false in a deletion")
    if json_size(command.attributes) > MAX_ATTRIBUTES:
        raise AttributesTooLarge(f"attributes: more than {MAX_ATTRIBUTES} bytes of JSON")
    if not command.deleted:
        types.of(command.type).check(command.attributes, merge=command.merge)
