"""The target `make corpus` on a small corpus, and with a defective reader."""

import zipfile
from pathlib import Path

import pytest

from tests.kit import corpus
from tests.kit.texts import files


def test_every_cell_matches_a_second_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for language, encoding in (("spanish", "utf-8"), ("japanese", "cp932"), ("japanese", "euc_jp")):
        (file,) = files(language, encoding, (12,))
        (tmp_path / f"{encoding}.csv").write_bytes(file.data)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("quotes.CSV", 'a,b\n"x, ""y""",\n\n"two\r\nlines",z\n,,\n')

    assert corpus.main(tmp_path) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if ".csv" in line.lower()]
    assert lines == [
        ["a.zip/quotes.CSV", "utf-8", "COMPLETED", "3", "0", "0"],
        ["cp932.csv", "cp932", "COMPLETED", "13", "0", "0"],
        ["euc_jp.csv", "utf-8", "WrongEncoding", "0", "0", "0"],
        ["utf-8.csv", "utf-8", "COMPLETED", "13", "0", "0"],
    ]
