"""Operations on users. Passwords are checked but not stored."""

from . import user_rules
from .account import Account, Document, Instance, Resource
from .errors import ConnectError, not_found
from .pages import page
from .search import condition


def create_user(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    user_rules.check(instance.attributes["IdentityManagementType"], parameters)
    _check_profiles(account, instance, parameters)
    username = parameters["Username"]
    if username in instance.usernames:
        message = f"The user {username} is already associated with the Amazon Connect instance {instance.id}"
        raise ConnectError("DuplicateResourceException", message)
    if len(instance.users) >= account.settings.users_per_instance:
        raise ConnectError("LimitExceededException", "the instance has as many users as it may have")
    user = _add(account, instance, parameters)
    return {"UserId": user.id, "UserArn": user.arn}


def describe_user(account: Account, parameters: Document) -> Document:
    return {"User": _described(_user(account, parameters))}


def list_users(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    some, more = page(list(instance.users.values()), parameters, size=1000)
    return {"UserSummaryList": [_described(user) for user in some], **more}


def search_users(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    meets, until = condition(parameters), account.now() - account.settings.search_lag_seconds
    found = [user for user in instance.users.values() if user.created_at <= until and meets(user)]
    some, more = page(found, parameters, size=100)
    return {"Users": [_searched(user) for user in some], "ApproximateTotalCount": len(found), **more}


def delete_user(account: Account, parameters: Document) -> Document:
    user, instance = _user(account, parameters), account.active_instance(parameters["InstanceId"])
    del instance.users[user.id], instance.usernames[user.attributes["Username"]]
    return {}


def _add(account: Account, instance: Instance, parameters: Document) -> Resource:
    attributes = {name: value for name, value in parameters.items() if name not in {"Password", "InstanceId", "Tags"}}
    tags = dict(parameters.get("Tags", {}))
    user = Resource(**account.identity(f"{instance.arn}/agent"), attributes=attributes, tags=tags)
    instance.users[user.id] = user
    instance.usernames[attributes["Username"]] = user.id
    return user


def _check_profiles(account: Account, instance: Instance, parameters: Document) -> None:
    there = account.now() >= instance.profiles_at
    security = {profile.id for profile in instance.security_profiles if there}
    routing = {profile.id for profile in instance.routing_profiles if there}
    for profile_id in parameters["SecurityProfileIds"]:
        if profile_id not in security:
            raise not_found(f"the security profile {profile_id}")
    if parameters["RoutingProfileId"] not in routing:
        raise not_found(f"the routing profile {parameters['RoutingProfileId']}")


def _user(account: Account, parameters: Document) -> Resource:
    users = account.active_instance(parameters["InstanceId"]).users
    if parameters["UserId"] not in users:
        raise not_found(f"the user {parameters['UserId']}")
    return users[parameters["UserId"]]


def _described(user: Resource) -> Document:
    tags = {"Tags": user.tags} if user.tags else {}
    return {**user.attributes, "Id": user.id, "Arn": user.arn, "LastModifiedTime": user.created, **tags}


def _searched(user: Resource) -> Document:
    """SearchUsers returns after-contact work in milliseconds; other operations use seconds."""
    described = _described(user)
    phone = described.get("PhoneConfig", {})
    if "AfterContactWorkTimeLimit" in phone:
        phone = {**phone, "AfterContactWorkTimeLimit": phone["AfterContactWorkTimeLimit"] * 1000}
        return {**described, "PhoneConfig": phone}
    return described
