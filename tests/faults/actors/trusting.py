"""MiniStack without parts that a run cannot need: request checks that other suites cover, prices, accounts and Regions.

Requests are built by the same few lines of code in every schedule, and nothing in them is large or malformed. The tests
of stores and the integration tests check them. Together these took a third of a schedule.
"""

from functools import cache
from typing import Any

from ministack.core.responses import AccountRegionScopedDict, get_account_id, get_region
from ministack.services import dynamodb, stepfunctions

from tests.kit.engines.in_process import replace

# Functions that return an error, or none.
_CHECKS = (
    *("_attribute_value_error", "_batch_members_error", "_empty_key_value_error", "_index_key_empty_reason"),
    *("_index_key_type_reason", "_key_length_error", "_key_type_mismatch_reason", "_older_layer_error"),
    *("_older_member_errors", "_transact_write_action_error", "_transact_write_members_error"),
    *("_validate_expression_attrs", "_validate_index_key_values", "_validate_item", "_values_error_response"),
    "_vector_write_reason",
)
# Functions that return a size, a price, or whether a limit is exceeded.
_AMOUNTS = ("_index_write_units", "_item_size_bytes", "_nesting_exceeded", "_nesting_level", "_update_request_charge")


def trust_requests() -> None:
    """Patch the loaded modules."""
    for name in _CHECKS:
        replace(dynamodb, name, _none)
    for name in _AMOUNTS:
        replace(dynamodb, name, _zero)
    replace(dynamodb, "_ddb_canonicalize_number", cache(dynamodb._ddb_canonicalize_number))
    replace(stepfunctions, "_parse_jsonpath_tokens", cache(stepfunctions._parse_jsonpath_tokens))
    own = (get_account_id(), get_region())
    replace(AccountRegionScopedDict, "_scoped", lambda _, key: (*own, key))


def _none(*_: Any, **__: Any) -> None:
    return None


def _zero(*_: Any, **__: Any) -> int:
    return 0
