"""Documents on pages: no secrets, no people's data, and everything else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwise.console.redaction import HIDDEN, redacted, redacted_text, shown
from tests.kit.project import EVENTS

KEY = "AAAAKgAAAAIAAAAAAAAAAdQ" * 20


@pytest.mark.parametrize(
    "name",
    [
        *("token", "taskToken", "TaskToken", "task_token", "tokens", "callback_token", "password", "default_password"),
        *("client_secret", "SecretString", "Authorization", "apiKey", "api_key", "X-Signature", "cvc"),
        *("name", "first_name", "last_name", "email", "phone", "date_of_birth", "address", "line1", "postal_code"),
    ],
)
def test_secrets_and_personal_data_are_hidden(name: str) -> None:
    document = {"order": [{name: "in-private", "status": "New"}]}

    assert redacted(document) == {"order": [{name: HIDDEN, "status": "New"}]}


def test_other_values_are_kept() -> None:
    document = {"order_id": "o-1", "amount": 3000, "tokens": 2, "password_set": True, "token": None, "sku": "tea-01"}

    assert redacted(document) == document


def test_whole_objects_and_lists_are_hidden() -> None:
    document = {"address": {"city": "X"}, "tokens": ["a"], "name": {"S": "Ada"}}

    assert redacted(document) == {"address": HIDDEN, "tokens": HIDDEN, "name": HIDDEN}


def test_json_inside_a_text_is_a_document() -> None:
    cause = json.dumps({"errorMessage": "refused", "input": json.dumps({"payment": {"token": "tok_visa"}})})

    assert "tok_visa" not in str(redacted({"Cause": cause}))
    assert "refused" in str(redacted({"Cause": cause}))


@pytest.mark.parametrize("number", ["12345678901234567890.5", "1E+400", "0.12345678901234567890", "1.0"])
def test_number_in_a_document_keeps_its_digits(number: str) -> None:
    text = f'{{"a": [{number}]}}'

    assert (redacted_text(text), "".join(shown(text).split())) == (text, text.replace(" ", ""))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 20_000, "[1e99999999999999999999]"])
def test_unparsable_document_is_a_text(text: str) -> None:
    assert redacted_text(text) == shown(text) == text


def test_document_with_an_invalid_number_is_redacted() -> None:
    assert redacted_text('{"name": "in-private", "rate": NaN}') == f'{{"name": "{HIDDEN}", "rate": "NaN"}}'


@pytest.mark.parametrize(
    "text",
    [
        "payment.token: 'tok_secret1' is unknown",
        "{'payment': {'token': 'in-private'}}",
        '{"token": "in-private", cut off',
        "password=in-private;",
        f"no task for {KEY}",
    ],
)
def test_token_in_a_sentence_is_hidden(text: str) -> None:
    found = redacted_text(text)

    assert not {"tok_secret1", "in-private", KEY} & set(found.replace("'", " ").replace('"', " ").split())
    assert HIDDEN in found


def test_arns_and_hashes_are_not_tokens() -> None:
    text = "arn:aws:states:us-east-1:000000000000:execution:stepwise-OrderSaga:o-1 " + "a" * 64

    assert redacted_text(text) == text


def test_non_json_text_is_shown() -> None:
    assert shown("not json") == "not json"
    assert shown(None) == shown("") == ""


def test_document_is_shown_indented() -> None:
    assert shown('{"order_id":"o-1"}') == '{\n  "order_id": "o-1"\n}'


def test_deeply_nested_document_is_hidden() -> None:
    document: object = "in-private"
    for _ in range(2000):
        document = {"a": document}

    assert "in-private" not in str(redacted(document))


@pytest.mark.parametrize("path", EVENTS.values(), ids=lambda path: path.stem)
def test_no_sample_event_shows_a_token_or_a_person(path: Path) -> None:
    text = shown(path.read_text())

    assert "tok_" not in text
    assert "Lovelace" not in text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "token", "b"]), inner),
    )
)
def test_redaction_is_idempotent(document: object) -> None:
    once = redacted(document)

    assert redacted(once) == once
