"""A time axis with folded idle stretches."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 1000.0
# Shorter stretches are not folded. A fold is drawn this wide.
_SHORT, _FOLD = timedelta(seconds=2), 34.0

type Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Fold:
    """An idle stretch. x: where it is drawn; all have one width."""

    x: float
    width: float
    begin: datetime
    length: timedelta


@dataclass(frozen=True, slots=True)
class Axis:
    """Times from left to right. begin and end: those of the whole axis."""

    begin: datetime
    end: datetime
    folds: tuple[Fold, ...]
    scale: float

    def x(self, at: datetime) -> float:
        """Return the position of a time, from 0 to WIDTH."""
        at = min(max(at, self.begin), self.end)
        number = bisect_right(self.folds, at, key=lambda fold: fold.begin)
        if not number:
            return (at - self.begin).total_seconds() * self.scale
        fold = self.folds[number - 1]
        inside = min(at - fold.begin, fold.length)
        rest = (at - fold.begin - inside).total_seconds() * self.scale
        return fold.x + fold.width * (inside / fold.length) + rest


def axis(busy: Iterable[Span], begin: datetime, end: datetime) -> Axis:
    """Build an axis that folds long stretches between the busy spans."""
    idle = [gap for gap in _gaps(sorted(busy), begin, end) if gap[1] - gap[0] > _SHORT]
    seen = (end - begin - sum((right - left for left, right in idle), timedelta())).total_seconds()
    fold = _fold_width(len(idle), alone=seen <= 0)
    scale = (WIDTH - fold * len(idle)) / seen if seen > 0 else 0.0
    folds, x, at = list[Fold](), 0.0, begin
    for left, right in idle:
        x += (left - at).total_seconds() * scale
        folds.append(Fold(x, fold, left, right - left))
        x, at = x + fold, right
    return Axis(begin, end, tuple(folds), scale)


def _fold_width(folds: int, *, alone: bool) -> float:
    """Return the width of a fold. Many folds leave half of the room for the rest. alone: whether there is no rest."""
    if not folds:
        return 0.0
    return WIDTH / folds if alone else min(_FOLD, WIDTH / 2 / folds)


def _gaps(busy: Sequence[Span], begin: datetime, end: datetime) -> Iterator[Span]:
    at = begin
    for left, right in busy:
        if left > at:
            yield at, left
        at = max(at, right)
    if end > at:
        yield at, end
