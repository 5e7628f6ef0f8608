"""`each` checks many values in one test.

`pytest.mark.parametrize` makes a test of each value, and pytest spends milliseconds on it. That is more than a look at
a template takes, and there are thousands.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any


def each(
    names: str | Sequence[str], values: Iterable[Any], ids: Callable[[Any], object] | Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with every value, as `pytest.mark.parametrize` would; it fails with all that failed.

    names: of one parameter, or several. values: one for each call, or a tuple. ids: their names in the report, or what
    makes one. Fixtures are made once for all values. A test without a value fails.
    """
    parameters = [names] if isinstance(names, str) else list(names)
    cases = list(values)
    own = [str(ids(one)) for one in cases] if callable(ids) else [str(one) for one in ids or cases]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def every(**fixtures: Any) -> None:
            assert cases, f"no value of {parameters}"
            failures = list[Exception]()
            for name, case in zip(own, cases, strict=True):
                given = [case] if isinstance(names, str) else case
                try:
                    test(**fixtures, **dict(zip(parameters, given, strict=True)))
                except Exception as failure:
                    failure.add_note(f"{parameters}: {name}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} failed", failures)

        signature = inspect.signature(test)
        others = [one for one in signature.parameters.values() if one.name not in parameters]
        every.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every

    return decorated
