"""The encodings of CSV files."""

import re
from typing import Literal

type Encoding = Literal["utf-8", "cp932"]

UTF_8: Encoding = "utf-8"
CP932: Encoding = "cp932"

# Bytes that Python's decoder accepts although cp932 has no such character.
_NO_CP932 = re.compile("[\x80\xa0\uf8f0-\uf8f3]")


def decoded(data: bytes, encoding: Encoding) -> str:
    """Raises UnicodeDecodeError."""
    text = data.decode(encoding)
    wrong = _NO_CP932.search(text) if encoding == CP932 else None
    if wrong:
        raise UnicodeDecodeError(encoding, data, 0, len(data), "not in cp932")
    return text
