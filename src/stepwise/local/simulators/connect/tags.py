"""Operations on the tags of instances and users."""

from .account import Account, Document, Resource
from .errors import invalid_parameter, not_found

_MOST = 50


def tag_resource(account: Account, parameters: Document) -> Document:
    resource = _resource(account, parameters)
    tags = resource.tags | parameters["tags"]
    if len(tags) > _MOST:
        raise invalid_parameter(f"a resource has at most {_MOST} tags")
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
