"""A file in the wrong encoding is rejected as a whole, so that no user gets a wrong name."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.encodings import CP932, UTF_8, Encoding
from tests.unit.user_import.import_world import KEY, World
from user_import.csv_file import parse_row
from user_import.encoding import EncodingCheck
from user_import.errors import WrongEncoding

# Pairs of half-width katakana that are valid UTF-8, by chance, and one name that is not.
PASSING, REVEALING = [("ﾆｼ", "ﾏｷ"), ("ﾊｾ", "ﾘｴ")], ("ﾔﾏﾀﾞ", "ﾀﾛｳ")
EUROPEAN = [("Müller", "Éva"), ("Núñez", "José")]
CYRILLIC = [("Иванов", "Пётр")]
JAPANESE = [("山田", "太郎"), ("表", "ソノ")]
LATIN_1 = [("Müller", "Hélène")]
# Cells like names: half-width katakana, or ideographs and kana whose first byte never occurs in UTF-8, and no letter.
KATAKANA = "".join(map(chr, range(0xFF65, 0xFFA0)))
CELLS = st.text(f"{KATAKANA}-. 1", max_size=5) | st.text("山田表ソ能ポァあ-. 1", max_size=5)


def row(number: int, names: tuple[str, str]) -> str:
    return f"{number},user{number},Passw0rd,{names[0]},{names[1]}"


def checked(names: list[tuple[str, str]], written: str, said: Encoding | None) -> None:
    check = EncodingCheck(said)
    for number, one in enumerate(names, start=1):
        check.see(number, row(number, one).encode(written))
    check.end()


@pytest.mark.parametrize(
    ("names", "written", "said"),
    [
        ([("Taro", "Yamada")], "ascii", None),
        ([("Taro", "Yamada")], "ascii", CP932),
        (EUROPEAN, UTF_8, None),
        (CYRILLIC, UTF_8, None),
        (JAPANESE, UTF_8, None),
        ([*PASSING, REVEALING], UTF_8, None),
        ([("é", "à")], UTF_8, UTF_8),
        ([("Семен", "Иванов"), ("Ольга", "Ян")], UTF_8, None),
        (JAPANESE, CP932, CP932),
        ([*PASSING, REVEALING], CP932, CP932),
        (PASSING, CP932, CP932),
    ],
)
def test_the_right_encoding_is_accepted(names: list[tuple[str, str]], written: str, said: Encoding | None) -> None:
    checked(names, written, said)


@pytest.mark.parametrize(
    ("names", "written", "said", "problem"),
    [
        ([*PASSING, REVEALING], CP932, None, "^row 3 is not UTF-8; the file looks like cp932"),
        ([*PASSING, REVEALING], CP932, UTF_8, "^row 3 is not UTF-8; the file looks like cp932"),
        ([("Taro", "Yamada"), *JAPANESE], CP932, None, "^row 2 is not UTF-8; the file looks like cp932"),
        (PASSING, CP932, None, "may be UTF-8, or half-width katakana in cp932: .*--encoding=cp932"),
        ([*PASSING, ("ﾏｷ B", "ﾆｼ")], CP932, None, "may be UTF-8, or half-width katakana in cp932: .*--encoding=cp932"),
        (LATIN_1, "latin-1", None, "^row 1 is not UTF-8: save the file as CSV in UTF-8"),
        (JAPANESE, "euc-jp", None, "^row 1 is not UTF-8"),
        (JAPANESE, UTF_8, CP932, "cp932"),
        (EUROPEAN, UTF_8, CP932, "UTF-8"),
        ([("\x80", "x")], "latin-1", CP932, "^row 1 is not cp932"),
        ([("\xff", "x")], "latin-1", CP932, "^row 1 is not cp932"),
    ],
)
def test_a_wrong_encoding_is_refused_and_explained(
    names: list[tuple[str, str]], written: str, said: Encoding | None, problem: str
) -> None:
    with pytest.raises(WrongEncoding, match=problem) as refused:
        checked(names, written, said)

    assert not any(name in str(refused.value) for one in names for name in one if len(name) > 1)


def accepted(check: Callable[[], None]) -> bool:
    try:
        check()
    except WrongEncoding:
        return False
    return True


@given(st.lists(st.tuples(CELLS, CELLS), max_size=4), st.sampled_from([UTF_8, CP932]), st.booleans())
def test_accepted_order_is_read_unchanged(names: list[tuple[str, str]], written: Encoding, said: bool) -> None:
    """Even if the input gives no encoding."""
    encoding = written if said else None
    if accepted(lambda: checked(names, written, encoding)):
        for number, one in enumerate(names, start=1):
            read = parse_row(row(number, one).encode(written), tuple("abcde"), encoding or UTF_8)
            assert (read["d"], read["e"]) == one


@pytest.mark.parametrize("padding", [0, 300], ids=["short", "longer than what Initialize reads"])
def test_one_row_refuses_the_file_before_anything_is_created(world: World, padding: int) -> None:
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
