"""The supported operations, by their names in the service model, and those on tags."""

from collections.abc import Callable, Mapping

from . import instances, users
from .account import Account, Document, Resource
from .errors import invalid_parameter, not_found

type Operation = Callable[[Account, Document], Document]

_MAX_TAGS = 50


def tag_resource(account: Account, parameters: Document) -> Document:
    resource = _resource(account, parameters)
    tags = resource.tags | parameters["tags"]
    if len(tags) > _MAX_TAGS:
        raise invalid_parameter(f"a resource has at most {_MAX_TAGS} tags")
    resource.tags = tags
    return {}


def untag_resource(account: Account, parameters: Document) -> Document:
    resource = _resource(account, parameters)
    resource.tags = {key: value for key, value in resource.tags.items() if key not in parameters["tagKeys"]}
    return {}


def list_tags_for_resource(account: Account, parameters: Document) -> Document:
    tags = _resource(account, parameters).tags
    return {"tags": tags} if tags else {}


def _resource(account: Account, parameters: Document) -> Resource:
    arn = parameters["resourceArn"]
    for instance in account.instances():
        if instance.arn == arn:
            return instance
        if arn.startswith(f"{instance.arn}/agent/") and arn.rpartition("/")[2] in instance.users:
            return instance.users[arn.rpartition("/")[2]]
    raise not_found(f"the resource {arn}")


OPERATIONS: Mapping[str, Operation] = {
    "CreateInstance": instances.create_instance,
    "DescribeInstance": instances.describe_instance,
    "ListInstances": instances.list_instances,
    "DeleteInstance": instances.delete_instance,
    "ListSecurityProfiles": instances.list_security_profiles,
    "ListRoutingProfiles": instances.list_routing_profiles,
    "CreateUser": users.create_user,
    "DescribeUser": users.describe_user,
    "ListUsers": users.list_users,
    "SearchUsers": users.search_users,
    "DeleteUser": users.delete_user,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsForResource": list_tags_for_resource,
}
