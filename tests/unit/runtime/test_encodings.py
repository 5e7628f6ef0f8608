"""A file is read in its own encoding, or refused with its likely encoding."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.encodings import CP932, UTF_8, Encoding, EncodingCheck, WrongEncoding, decoded
from tests.kit.texts import HEADER, RIGHT, TEXTS, WRONG, files

SIZES = (1, 2, 3, 5, 12, 400)
# Each is also half-width katakana in cp932, and the only one of its file that is not ASCII.
SYMBOLS = (
    *("N° 4951", "Nº 3", "N.º 7", "CALLE N° 12", "20 °C", "70 °F", "°F", "M²", "½ kg", "¼ kg", "£ 5", "© 2024", "§ 5"),
    *("COCA COLA ®", "± 5 %", "COL·LEGI", "5 ¢", "ŻABKA", "İSTANBUL", "5 м", "10 г", "Tea¹"),
)
KATAKANA = "".join(map(chr, range(0xFF66, 0xFFA0)))


def rows(*names: str, encoding: str = "utf-8") -> list[bytes]:
    return [f"p{number},{name},tea,1,JPY".encode(encoding) for number, name in enumerate(names, start=1)]


def refusal(records: Sequence[bytes], encoding: Encoding, *, confirmed: bool = False) -> str:
    """The reason that a file is refused; "" if it is accepted."""
    check = EncodingCheck(encoding, confirmed=confirmed)
    try:
        for number, record in enumerate([HEADER.encode(), *records]):
            check.see(number, record)
        check.end()
    except WrongEncoding as wrong:
        return str(wrong)
    return ""


@pytest.mark.parametrize(
    ("language", "encoding"), [(one, encoding) for encoding, languages in RIGHT.items() for one in languages]
)
def test_file_in_its_own_encoding_is_accepted(language: str, encoding: Encoding) -> None:
    for seed in range(3):
        for file in files(language, encoding, SIZES[:-1] if seed else SIZES, seed):
            assert refusal(file.records[1:], encoding) == "", file.names[:5]


@pytest.mark.parametrize("named", [UTF_8, CP932])
@pytest.mark.parametrize("encoding", WRONG)
def test_file_in_another_encoding_is_rejected(encoding: str, named: Encoding) -> None:
    """This holds from a dozen rows on: a file of one or two names may be valid in two encodings."""
    for seed in range(3):
        for file in files(WRONG[encoding], encoding, (12, 60), seed):
            message = refusal(file.records[1:], named)
            assert message, file.names[:5]
            assert not any(name in message for name in file.names)
            if f"{encoding} {named}" != "cp949 cp932":
                assert "--encoding=cp932" not in message


@pytest.mark.parametrize("language", TEXTS)
def test_utf_8_file_is_not_read_as_cp932(language: str) -> None:
    for file in files(language, "utf-8", (12, 60)):
        assert "is not cp932; the file looks like UTF-8" in refusal(file.records[1:], CP932), file.names


@pytest.mark.parametrize(
    ("records", "named", "message"),
    [
        (
            rows("ﾃｱ", "ﾂｱ", encoding=CP932),
            UTF_8,
            "row 1 may be UTF-8, or half-width katakana in cp932: import it with",
        ),
        (rows("Tea", "ﾆｼ", "ﾏｷ", "ﾊｾ", encoding=CP932), UTF_8, "row 2 may be UTF-8, or half-width katakana"),
        (rows("ﾃｱ", "ﾂｱ", encoding=CP932) * 500, UTF_8, "row 1 may be UTF-8, or half-width katakana"),
        (rows("ﾃｱ", "ﾘﾖｸﾁﾔ", encoding=CP932), UTF_8, "row 2 is not UTF-8; the file looks like cp932"),
        (rows("緑茶"), CP932, "row 1 is not cp932; the file looks like UTF-8: import it with --encoding=utf-8"),
        (rows("Müller"), CP932, "row 1 is not cp932; the file looks like UTF-8"),
        (
            rows("山田", "太郎", "花子", encoding="euc_jp"),
            CP932,
            "row 1 is not cp932; the file looks like EUC-JP: save it as CSV",
        ),
        *(
            (rows(name, encoding="euc_jp"), CP932, "row 1 is not cp932; the file looks like EUC-JP")
            for name in ("山本", "食品", "価格", "名古屋", "ﾔﾏｻﾞｷ ｼﾞｭﾝ", "ｶ)ﾖｼﾀﾞ")
        ),
        (rows("緑茶", encoding="euc_jp"), UTF_8, "row 1 is not UTF-8; the file looks like EUC-JP: save it as CSV in"),
        (rows("緑茶", encoding="iso2022_jp"), CP932, "row 1 is not cp932; the file looks like ISO-2022"),
        (rows("茶", *["tea"] * 9, "緑茶", encoding="utf-7"), UTF_8, "row 1 is not UTF-8; the file looks like UTF-7"),
        (rows("Café".encode().decode("cp1252")), UTF_8, "row 1 is not UTF-8; the file looks like UTF-8 that was once"),
        (rows("緑茶".encode().decode("cp932")), UTF_8, "row 1 is not UTF-8; the file looks like UTF-8 that was once"),
        (
            rows("M\ufffdller", "K\ufffdthe", "Wei\ufffd"),
            UTF_8,
            "row 1 is not UTF-8; the file looks like a file that lost",
        ),
        (
            rows("緑茶", "山田\ue000", "佐藤", "鈴木", encoding=CP932),
            CP932,
            "row 2 is not cp932; the file looks like cp932",
        ),
        # One row of another file among many.
        ([*rows("緑茶") * 900, *rows("緑茶", encoding=CP932)], UTF_8, "row 901 is not UTF-8, although the file looks"),
        (
            [*rows("tea") * 9000, *rows("緑茶", encoding=CP932)],
            UTF_8,
            "row 9001 is not UTF-8; the file looks like cp932",
        ),
        ([*rows(*(f"茶{n}" for n in range(2000)), encoding=CP932), *rows("緑茶")], CP932, "row 2001 is not cp932"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_first_bad_row_and_the_likely_encoding_are_named(
    records: Sequence[bytes], named: Encoding, message: str
) -> None:
    assert refusal(records, named).startswith(message)


@pytest.mark.parametrize(
    ("records", "named"),
    [
        (rows("ﾃｱ", "ﾂｱ", encoding=CP932), CP932),
        (rows("Muñoz", "±", "ª", "º", "ñ", "Å", "½"), UTF_8),
        (rows("NESTLÉ®", "IRMÃ®", "100 ±5", "Ýmir", "и", "на"), UTF_8),
        *((rows("Tea", symbol), UTF_8) for symbol in SYMBOLS),
        # Japanese cells that are valid EUC-JP, too.
        *((rows(cell, encoding=CP932), CP932) for cell in ("ｸﾂ", "ﾅｴ", "社", "自社", "車社", "1ｰ2ｰ3", "Nｰ 3", "20ｰ")),
        (rows("\ufffd", "a\x1b[31m", "\x00", "\ue000", "緑茶"), UTF_8),
        (rows("+81312345678", "+49 30 1234567", "C+ABCD-1", "a~{b", "~{}~"), UTF_8),
        (rows("1ﾁｮｳﾒ", "ﾄｳｷｮｳ-ﾄ", "\x1a", encoding=CP932), CP932),
        (rows("ﾓﾓ", "ﾅｼ", "ﾁﾔ", "ﾐｿ", "ｻｹ", "ﾅｴ", "ﾘﾝｺﾞ", encoding=CP932), CP932),
        (rows("नमस्ते", "Մոսինյան", "ქართული", "Trần Vũ", "😀 Tee", "ʻOkina"), UTF_8),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_rare_characters_do_not_suggest_another_encoding(records: Sequence[bytes], named: Encoding) -> None:
    """A forbidden character is refused with its row."""
    assert refusal(records, named) == ""


def test_confirmed_encoding_only_has_to_decode() -> None:
    katakana = rows("ﾃｱ", encoding=CP932)

    assert refusal(katakana, UTF_8)
    assert refusal(katakana, UTF_8, confirmed=True) == ""
    assert refusal(rows("緑茶", encoding=CP932), UTF_8, confirmed=True).startswith("row 1 is not UTF-8")


def test_following_the_advice_leads_to_an_import() -> None:
    """cp932 is suggested only for a file that is accepted as cp932."""
    for encoding, language in [*WRONG.items(), ("cp932", "katakana"), ("cp932", "japanese")]:
        for file in files(language, encoding, (1, 2, 3, 4, 6) * 4):
            for named, other in ((UTF_8, CP932), (CP932, UTF_8)):
                if f"--encoding={other}, or" in refusal(file.records[1:], named):
                    assert refusal(file.records[1:], other) == "", file.names


PAIRS = st.builds(
    lambda one, two: one + two, st.sampled_from("ﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝ"), st.sampled_from("ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿｰ")
)
"""Words whose cp932 bytes are valid UTF-8."""
WORDS = st.text(st.sampled_from("表ソ能ポ弌ァ山田緑茶ﾀﾞab 1-." + KATAKANA), max_size=8)


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_katakana_that_are_valid_utf_8_are_never_read_as_utf_8(names: list[str]) -> None:
    records = rows(*names, encoding=CP932)

    assert "half-width katakana in cp932" in refusal(records, UTF_8)


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from([UTF_8, CP932]))
def test_accepted_file_is_read_as_written(names: list[str], encoding: Encoding) -> None:
    records = rows(*names, encoding=encoding)
    if not refusal(records, encoding):
        assert [decoded(one, encoding).split(",")[1] for one in records] == names


@given(st.lists(st.binary(max_size=12).map(lambda data: data.translate(None, b'\n\r",')), max_size=5))
def test_no_accepted_cp932_file_has_private_use_characters(cells: list[bytes]) -> None:
    records = [b"p1," + cell for cell in cells]
    if not refusal(records, CP932):
        text = "".join(decoded(one, CP932) for one in records)
        assert not any("\ue000" <= one <= "\uf8ff" or one == "\ufffd" for one in text)
