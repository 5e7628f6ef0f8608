"""Renders the API's document into stacks/api.yaml: `python -m stepwise.deployment.openapi`.

API Gateway gets the routes and their authorization. It validates no requests, so it gets no schemas.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "functions" / "api" / "openapi.json"
STACK = ROOT / "stacks" / "api.yaml"

_BEGIN, _END = (
    "          # Rendered from functions/api/openapi.json by 'make api'.\n",
    "          # End of what is rendered.\n",
)
_INTEGRATION = "x-amazon-apigateway-integration: {$ref: '#/components/x-amazon-apigateway-integrations/function'}"


def main() -> None:
    STACK.write_text(rendered(STACK.read_text(), json.loads(DOCUMENT.read_bytes())))
    sys.stdout.write(f"{STACK.relative_to(ROOT)} has the routes of {DOCUMENT.relative_to(ROOT)}\n")


def rendered(stack: str, document: Any) -> str:
    """Replace the routes of the stack's template by those of the document."""
    before, _, rest = stack.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return "".join([before, _BEGIN, *_lines(document), _END, after])


def _lines(document: Any) -> Iterator[str]:
    for path, item in document["paths"].items():
        yield f"          {path}:\n"
        for method, operation in item.items():
            yield f"            {method}: {{{_operation(operation)},\n"
            yield f"              {_INTEGRATION}}}\n"


def _operation(operation: Any) -> str:
    # One way of authorization at a time: the stack's parameters choose.
    iam, jwt = operation["security"]
    scopes = f"[{{jwt: [{', '.join(jwt['jwt'])}]}}]"
    security = f"security: !If [HasJwtIssuer, {scopes}, [{{sigv4: {iam['sigv4']}}}]]"
    return f"operationId: {operation['operationId']}, {security}, responses: {{}}"


if __name__ == "__main__":
    main()
