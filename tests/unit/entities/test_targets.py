"""PRODUCT's targets never go back, however late a write arrives."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from entities.catalog import CatalogBucket
from entities.command import Attempt
from entities.errors import StaleCommand, TargetUnavailable
from entities.products import ProductsTable
from entities.targets import Document, Target
from idempotency import Contention
from stepwise.operations.stack import plain
from tests.kit.commands import World, error, new_tables, order
from tests.unit import dynamodb

TEA = Document(
    pk="TENANT#tenant1",
    sk="PRODUCT#tea-01",
    id="p-1",
    code="tea-01",
    name="Sencha",
    type="PRODUCT",
    version=1,
    tenant_code="tenant1",
    attributes={"category": "tea", "price": 1500, "currency": "JPY"},
    deleted=False,
)


def tea(version: int, *, deleted: bool = False, **attributes: Any) -> Document:
    return replace(
        TEA, version=version, deleted=deleted, attributes={} if deleted else {**TEA.attributes, **attributes}
    )


@pytest.fixture
def bucket(aws: Any) -> CatalogBucket:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="catalog")
    return CatalogBucket(s3, "catalog", dynamodb.client())


@pytest.fixture
def products() -> ProductsTable:
    return ProductsTable(dynamodb.client(), new_tables(dynamodb.client(), "products")[0])


@pytest.fixture(params=["products", "bucket"])
def target(request: pytest.FixtureRequest) -> Target:
    made: Target = request.getfixturevalue(request.param)
    return made


def rows(products: ProductsTable) -> dict[str, Any]:
    """Every row but its key, by pk."""
    found = [plain(item) for item in products.client.scan(TableName=products.name)["Items"]]  # type: ignore[attr-defined]
    return {row.pop("pk"): row for row in found if row.pop("sk") == "PRODUCT#tea-01"}


def shown(bucket: CatalogBucket) -> Any:
    return json.loads(bucket.client.get_object(Bucket="catalog", Key="tenant1/products/tea-01.json")["Body"].read())


def test_target_shows_nothing_before_its_first_write(target: Target) -> None:
    assert target.version(TEA.pk, TEA.sk) == 0


def test_older_version_never_replaces_a_newer_one(target: Target) -> None:
    for version in (2, 1, 2):
        target.write(tea(version))
        assert target.version(TEA.pk, TEA.sk) == 2


def test_deletion_is_a_version_too(target: Target) -> None:
    target.write(tea(1))
    target.write(tea(2, deleted=True))
    target.write(tea(1))
    assert target.version(TEA.pk, TEA.sk) == 2
    target.write(tea(3))
    assert target.version(TEA.pk, TEA.sk) == 3


def test_only_a_skipped_version_may_be_replaced_by_an_older_one(target: Target) -> None:
    target.write(tea(3))
    target.write(tea(1), skipped=2)
    assert target.version(TEA.pk, TEA.sk) == 3
    target.write(tea(1), skipped=3)
    assert target.version(TEA.pk, TEA.sk) == 1


def test_product_is_found_by_its_category(products: ProductsTable) -> None:
    products.write(tea(1))

    assert rows(products) == {
        "TENANT#tenant1": {"version": 1, "category": "tea", "deleted": False},
        "TENANT#tenant1#CATEGORY#tea": {
            "name": "Sencha", "price": 1500, "currency": "JPY", "available": True, "version": 1
        },
    }  # fmt: skip


def test_product_that_changes_its_category_has_one_row(products: ProductsTable) -> None:
    products.write(tea(1))
    products.write(tea(2, category="green-tea", available=False))
    products.write(tea(1))

    assert set(rows(products)) == {"TENANT#tenant1", "TENANT#tenant1#CATEGORY#green-tea"}
    assert rows(products)["TENANT#tenant1#CATEGORY#green-tea"]["available"] is False


def test_deleted_product_keeps_only_its_pointer(products: ProductsTable) -> None:
    products.write(tea(1))
    products.write(tea(2, deleted=True))
    products.write(tea(1))

    assert rows(products) == {"TENANT#tenant1": {"version": 2, "deleted": True}}


def test_product_is_an_object_of_the_catalog(bucket: CatalogBucket) -> None:
    bucket.write(tea(1, available=False))

    assert shown(bucket) == {
        "code": "tea-01", "name": "Sencha", "category": "tea", "price": 1500, "currency": "JPY", "available": False,
        "version": 1,
    }  # fmt: skip
    bucket.write(tea(2, deleted=True))
    assert shown(bucket) == {"deleted": True, "version": 2}


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Target, Document], None]:
    """Let another writer write between the next read of a target and its write."""

    def arrange(target: Target, document: Document) -> None:
        name = "_read" if isinstance(target, CatalogBucket) else "_pointer"
        read = getattr(type(target), name)

        def read_and_lose(self: Any, *key: str) -> Any:
            found = read(self, *key)
            monkeypatch.setattr(type(target), name, read)
            target.write(document)
            return found

        monkeypatch.setattr(type(target), name, read_and_lose)

    return arrange


@pytest.mark.parametrize(("other", "shows"), [(3, 3), (1, 2)])
def test_writer_that_lost_a_race_reads_again(
    target: Target, meanwhile: Callable[[Target, Document], None], other: int, shows: int
) -> None:
    meanwhile(target, tea(other, category="green-tea"))
    target.write(tea(2))

    assert target.version(TEA.pk, TEA.sk) == shows
    if isinstance(target, ProductsTable):
        assert len(rows(target)) == 2


def test_race_lost_too_often_is_contention(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    target.write(tea(1))
    name = "_read" if isinstance(target, CatalogBucket) else "_pointer"
    monkeypatch.setattr(type(target), name, lambda *_: None)

    with pytest.raises(Contention):
        target.write(tea(2))


def test_target_is_written_only_at_its_turn(target: Target, world: World) -> None:
    for version in (1, 2):
        world.publish(order(version))
    late = world.gates.rows.turn(Attempt(world.gate().key, 2, 1))

    with pytest.raises(StaleCommand):
        target.write(tea(2), late)
    assert target.version(TEA.pk, TEA.sk) == 0
    target.write(tea(1), world.gates.rows.turn(Attempt(world.gate().key, 1, 1)))
    assert target.version(TEA.pk, TEA.sk) == 1


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("RequestTimeout", 400), ("InternalError", 500)])
def test_unresponsive_bucket_is_a_transient_error(
    bucket: CatalogBucket, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    def refuse(**_: Any) -> Any:
        raise error(code, status)

    monkeypatch.setattr(bucket.client, "put_object", refuse)
    with pytest.raises(TargetUnavailable, match=code):
        bucket.write(tea(1))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"version": null}'])
def test_foreign_object_is_replaced(bucket: CatalogBucket, body: bytes) -> None:
    bucket.client.put_object(Bucket=bucket.name, Key="tenant1/products/tea-01.json", Body=body)
    bucket.write(tea(1))

    assert bucket.version(TEA.pk, TEA.sk) == 1
