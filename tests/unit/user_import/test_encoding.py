"""A file in the wrong encoding is rejected as a whole, so that no user gets a wrong name."""

import pytest

from runtime.encodings import CP932
from tests.unit.user_import.import_world import KEY, World
from user_import.errors import WrongEncoding

# Pairs of half-width katakana that are valid UTF-8, by chance, and one name that is not.
PASSING, REVEALING = [("ﾆｼ", "ﾏｷ"), ("ﾊｾ", "ﾘｴ")], ("ﾔﾏﾀﾞ", "ﾀﾛｳ")
JAPANESE = [("山田", "太郎"), ("表", "ソノ")]


def row(number: int, names: tuple[str, str]) -> str:
    return f"{number},user{number},Passw0rd,{names[0]},{names[1]}"


@pytest.mark.parametrize(
    ("names", "written", "said", "problem"),
    [
        (PASSING, CP932, {}, "^row 1 may be UTF-8, or half-width katakana in cp932: .*--encoding=cp932"),
        ([*PASSING, REVEALING], CP932, {}, "^row 3 is not UTF-8; the file looks like cp932"),
        (JAPANESE, "utf-8", {"encoding": CP932}, "^row 1 is not cp932; the file looks like UTF-8"),
        # Confirmed or not, no user gets a name that cannot be decoded.
        (JAPANESE, CP932, {"encoding_confirmed": True}, "^row 1 is not UTF-8"),
    ],
)
def test_file_in_another_encoding_creates_no_user(
    world: World, names: list[tuple[str, str]], written: str, said: dict[str, object], problem: str
) -> None:
    world.upload(*(row(number, one).encode(written) for number, one in enumerate(names, start=1)))

    with pytest.raises(WrongEncoding, match=problem) as refused:
        world.run(key=KEY, **said)
    assert world.users == {}
    assert not any(name in str(refused.value) for one in names for name in one)


def test_confirmed_encoding_is_used_for_the_import(world: World) -> None:
    world.upload(row(1, ("ñ", "±")).encode())
    summary = world.run(key=KEY, encoding_confirmed=True)

    assert [user["IdentityInfo"]["FirstName"] for user in world.users.values()] == ["ñ"]
    assert summary["succeeded"] == 1


@pytest.mark.parametrize("padding", [0, 300], ids=["short", "longer than what Initialize reads"])
def test_one_bad_row_refuses_the_file_before_anything_is_created(world: World, padding: int) -> None:
    short = [row(number, PASSING[0]).encode(CP932) for number in range(1, 4)]
    rows = [*short, *(row(number, ("x" * 80, "y")).encode() for number in range(4, 4 + padding))]
    world.upload(*rows, row(9999, REVEALING).encode(CP932))
    world.max_rows = len(rows) + 1
    calls = len(world.simulator.control.requests("CreateUser"))

    with pytest.raises(WrongEncoding, match=f"^row {len(rows) + 1} is not UTF-8; the file looks like cp932"):
        world.run(key=KEY)
    assert world.users == {}
    assert len(world.simulator.control.requests("CreateUser")) == calls


def test_cp932_file_is_imported_and_retried_in_another_encoding(world: World) -> None:
    names = [*PASSING, REVEALING, *JAPANESE]
    rows = [row(number, one) for number, one in enumerate(names, start=1)]
    world.upload(*(one.encode(CP932) for one in [*rows, "6,no good,Passw0rd,ﾀﾛｳ,表"]))
    world.run(key=KEY, encoding="cp932")
    written = sorted(
        (user["IdentityInfo"]["FirstName"], user["IdentityInfo"]["LastName"]) for user in world.users.values()
    )
    world.upload(*(one.encode() for one in [*reversed(rows), "6,user6,Passw0rd,ﾀﾛｳ,表"]))
    summary = world.run(key=KEY, retry_of="UserCreateResult_20261121.csv")

    assert written == sorted(names)
    assert (summary["run"], summary["succeeded"]) == (1, 6)
