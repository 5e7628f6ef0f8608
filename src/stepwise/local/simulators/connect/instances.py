"""Operations on instances and their profiles."""

import uuid

from .account import Account, Document, Instance, Resource, page
from .errors import ConnectError, invalid_request

_CALLERS_OWN = "ClientToken"


def create_instance(account: Account, parameters: Document) -> Document:
    attributes = {name: value for name, value in parameters.items() if name != _CALLERS_OWN}
    token = parameters.get(_CALLERS_OWN, str(uuid.uuid4()))
    if token not in account.creations:
        account.creations[token] = (attributes, _create(account, attributes))
    before, instance = account.creations[token]
    if before != attributes:
        raise invalid_request("the ClientToken was used with other parameters")
    return {"Id": instance.id, "Arn": instance.arn}


def describe_instance(account: Account, parameters: Document) -> Document:
    return {"Instance": _described(account, account.instance(parameters["InstanceId"]))}


def list_instances(account: Account, parameters: Document) -> Document:
    some, more = page(account.instances(), parameters, size=10)
    return {"InstanceSummaryList": [_described(account, instance) for instance in some], **more}


def delete_instance(account: Account, parameters: Document) -> Document:
    instance, now = account.instance(parameters["InstanceId"]), account.now()
    if instance.status(now) == "CREATION_IN_PROGRESS":
        raise invalid_request("the instance is still being created")
    if instance.gone_at > now + account.settings.deletion_seconds:
        _count_change(account, "InvalidRequestException")
        instance.gone_at = now + account.settings.deletion_seconds
    return {}


def list_security_profiles(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    return _profiles(account, instance, instance.security_profiles, parameters, "SecurityProfileSummaryList")


def list_routing_profiles(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    return _profiles(account, instance, instance.routing_profiles, parameters, "RoutingProfileSummaryList")


def _create(account: Account, attributes: Document) -> Instance:
    _check_identity(account, attributes)
    standing = [one for one in account.instances() if not one.fails]
    if len(standing) >= account.settings.instances:
        raise ConnectError("ServiceQuotaExceededException", "the account has as many instances as it may have")
    _count_change(account, "ServiceQuotaExceededException")
    instance = account.add(attributes, dict(attributes.get("Tags", {})))
    if account.creation_fails:
        instance.fails = True
        instance.listed_until = instance.created_at + account.settings.failed_instance_seconds
    return instance


def _check_identity(account: Account, attributes: Document) -> None:
    alias = attributes.get("InstanceAlias")
    if attributes["IdentityManagementType"] == "EXISTING_DIRECTORY":
        if "DirectoryId" not in attributes:
            raise invalid_request("an existing directory needs its DirectoryId")
    elif not alias:
        raise invalid_request("InstanceAlias is required without an existing directory")
    taken = {one.attributes.get("InstanceAlias", "").lower() for one in account.instances()}
    if alias and alias.lower() in taken:
        raise invalid_request("Invalid Input. Instance alias is already used.")


def _count_change(account: Account, code: str) -> None:
    now, limit = account.now(), account.settings.instance_changes
    account.changes = [at for at in account.changes if at > now - account.settings.instance_changes_seconds]
    if len(account.changes) >= limit:
        message = "Your account has been flagged for an excessive number of creation and deletion attempts"
        raise ConnectError(code, message)
    account.changes.append(now)


def _described(account: Account, instance: Instance) -> Document:
    status = instance.status(account.now())
    alias = instance.attributes.get("InstanceAlias", instance.id)
    return {
        **{name: value for name, value in instance.attributes.items() if name != "Tags"},
        "Id": instance.id,
        "Arn": instance.arn,
        "CreatedTime": instance.created,
        "InstanceStatus": status,
        "InstanceAccessUrl": f"https://{alias}.my.connect.aws",
        **({"StatusReason": {"Message": "the creation failed on request"}} if status == "CREATION_FAILED" else {}),
        **({"Tags": instance.tags} if instance.tags else {}),
    }


def _profiles(
    account: Account, instance: Instance, profiles: list[Resource], parameters: Document, key: str
) -> Document:
    there = profiles if account.now() >= instance.profiles_at else []
    some, more = page(there, parameters, size=1000)
    return {key: [{"Id": one.id, "Arn": one.arn, **one.attributes} for one in some], **more}
