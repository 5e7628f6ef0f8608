"""Patches S3 in MiniStack 1.5.33:

1. An event *Object Created* names the object's version, as on AWS.
2. A byte range also works with a version.
3. `aws:PrincipalArn` of a role's session is the ARN of the role, as on AWS, which bucket policies name.
"""

import contextvars
import json
from collections.abc import Callable
from typing import Any

type Answer = tuple[int, dict[str, str], bytes]

_version = contextvars.ContextVar[str | None]("version", default=None)


def apply() -> None:
    """Patch the loaded MiniStack modules."""
    from ministack.core import iam_evaluator
    from ministack.services import eventbridge, s3

    s3._fire_s3_event = _keeping_version(s3._fire_s3_event)
    eventbridge._dispatch_event = _naming_version(eventbridge._dispatch_event)
    s3._get_object = _in_range(s3._get_object)
    iam_evaluator._resolve_condition_key = _naming_roles(iam_evaluator._resolve_condition_key)


def _keeping_version(fire: Callable[..., None]) -> Callable[..., None]:
    def fire_s3_event(*args: Any, version_id: str | None = None, **kwargs: Any) -> None:
        token = _version.set(version_id)
        try:
            fire(*args, version_id=version_id, **kwargs)
        finally:
            _version.reset(token)

    return fire_s3_event


def _naming_version(dispatch: Callable[..., None]) -> Callable[..., None]:
    def dispatch_event(event: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        version = _version.get()
        if version and event.get("Source") == "aws.s3":
            detail = json.loads(event["Detail"])
            detail["object"]["version-id"] = version
            event = {**event, "Detail": json.dumps(detail)}
        dispatch(event, *args, **kwargs)

    return dispatch_event


def _in_range(get: Callable[..., Answer]) -> Callable[..., Answer]:
    def get_object(bucket: str, key: str, headers: dict[str, str], query: Any = None) -> Answer:
        from ministack.services import s3

        status, answered, body = get(bucket, key, headers, query)
        wanted = headers.get("range")
        if status != 200 or not wanted:
            return status, answered, body
        found = s3._parse_range(wanted, len(body))
        if found is None:
            return 416, {"Content-Type": "application/xml"}, s3._xml_body(s3._range_error_xml(bucket, key))
        start, end = found
        sizes = {"Content-Length": str(end + 1 - start), "Content-Range": f"bytes {start}-{end}/{len(body)}"}
        # The checksum covers the whole object.
        kept = {name: value for name, value in answered.items() if not name.lower().startswith("x-amz-checksum")}
        return 206, {**kept, **sizes}, body[start : end + 1]

    return get_object


def _naming_roles(resolve: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def resolve_condition_key(key: str, context: Any) -> Any:
        from ministack.services import iam

        value = resolve(key, context)
        if key.lower() != "aws:principalarn" or ":assumed-role/" not in value:
            return value
        return iam._roles.get_scoped(context.principal_account, None, value.split("/")[1])["Arn"]

    return resolve_condition_key
