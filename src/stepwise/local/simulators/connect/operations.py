"""The supported operations, by their names in the service model."""

from collections.abc import Callable, Mapping

from . import instances, tags, users
from .account import Account, Document

type Operation = Callable[[Account, Document], Document]

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
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "ListTagsForResource": tags.list_tags_for_resource,
}
