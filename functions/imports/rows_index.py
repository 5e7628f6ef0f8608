"""What the loader learns of a file in one pass: where its rows are, and which keys occur twice."""

import hashlib
from array import array
from dataclasses import dataclass, field

_NONE = 0


@dataclass
class Keys:
    """The keys of all rows, as 64-bit hashes: 8 MB for a million rows, of which two collide in one of 10^7 files."""

    hashes: array[int] = field(default_factory=lambda: array("Q"))

    def put(self, position: int, cell: str) -> None:
        """The key of a row after all before; "" for none. The rows that were passed over have none."""
        if passed := position - 1 - len(self.hashes):
            self.hashes.extend([_NONE] * passed)
        self.hashes.append(_hash(cell) if cell else _NONE)

    def duplicates(self, *, keep_last: bool) -> "Duplicates":
        """The rows that another row of the same key refuses. keep_last: the last one of each key is not refused."""
        found = Duplicates(len(self.hashes))
        repeated = self._repeated()
        for index in range(len(self.hashes) - 1, -1, -1) if repeated else ():
            key = self.hashes[index]
            if key in repeated:
                if keep_last and key not in found.kept:
                    found.kept.add(key)
                else:
                    found.mark(index + 1)
        found.kept.clear()
        return found

    def moved(self, number: int, cell: str) -> bool:
        """Whether this row has another key here, or does not exist. A row without a key may get any."""
        return number > len(self.hashes) or self.hashes[number - 1] not in (_NONE, _hash(cell))

    def _repeated(self) -> set[int]:
        repeated, before = set(), _NONE
        for key in sorted(self.hashes):
            if key == before != _NONE:
                repeated.add(key)
            before = key
        return repeated


@dataclass
class Duplicates:
    """A bit for each row of a file. size: rows of the file."""

    size: int
    bits: bytearray = field(init=False)
    count: int = 0
    kept: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bits = bytearray(self.size // 8 + 1)

    @classmethod
    def read(cls, data: bytes) -> "Duplicates":
        """What `bits` were written as."""
        found = cls(len(data) * 8 - 8)
        found.bits = bytearray(data)
        return found

    def mark(self, position: int) -> None:
        self.bits[position // 8] |= 1 << position % 8
        self.count += 1

    def add(self, other: "Duplicates") -> None:
        """The rows of both."""
        self.bits = bytearray(one | two for one, two in zip(self.bits, other.bits, strict=True))
        self.count = sum(one.bit_count() for one in self.bits)

    def __contains__(self, position: int) -> bool:
        return position // 8 < len(self.bits) and bool(self.bits[position // 8] >> position % 8 & 1)


@dataclass(frozen=True, slots=True)
class Marks:
    """Which rows another row refuses, and which ones have another key than in the chain's first file."""

    duplicates: Duplicates | None = None
    moved: Duplicates | None = None

    def of(self, position: int) -> dict[str, bool]:
        """As the check of a row takes them."""
        marked = {"duplicate": self.duplicates, "moved": self.moved}
        return {name: bits is not None and position in bits for name, bits in marked.items()}


def _hash(cell: str) -> int:
    return int.from_bytes(hashlib.blake2b(cell.encode(), digest_size=8).digest()) or 1
