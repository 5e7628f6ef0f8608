"""The application's templates: the root and its nested stacks.

`flat` merges them into one template, which is easier to read, translate and check.
"""

import copy
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .templates import FUNCTION, LOCATIONS, NESTED, Template, load, of_type


def nested(template: Template) -> dict[str, str]:
    """Return the path of each nested stack's template, relative to this one's folder, by logical id."""
    return {name: body[field] for kind, field in NESTED.items() for name, body in of_type(template, kind).items()}


def placed(template: Template, places: Mapping[str, str]) -> Template:
    """Return the template with other paths for its nested stacks, by logical id."""
    placed = copy.deepcopy(template)
    for kind, field in NESTED.items():
        for name, properties in of_type(placed, kind).items():
            properties[field] = places[name]
    return placed


def files(root: Path) -> Iterator[Path]:
    """Yield the root's template and those of its nested stacks."""
    yield root
    yield from (root.parent / place for place in nested(load(root)).values())


def flat(root: Path) -> Template:
    """Merge the whole application into one template.

    References to a stack's parameters become references to their sources.
    Raises ValueError if two stacks declare one name in different ways.
    """
    template = load(root)
    if not nested(template):
        return template
    outputs: dict[str, Any] = {}
    stacks = [
        _stack(root.parent, name, template["Resources"][name], outputs)
        for name in template["Resources"]
        if name in nested(template)
    ]
    variables = [
        set(stack["Globals"]["Function"]["Environment"]["Variables"]) for stack in stacks if "Globals" in stack
    ]
    result = {section: body for section, body in template.items() if section not in {"Resources", "Outputs"}}
    for stack in stacks:
        _lower(stack, set.intersection(*variables))
        for section in ("Globals", "Conditions", "Resources"):
            _join(result.setdefault(section, {}), stack.get(section, {}))
    return {**result, "Outputs": _given(template["Outputs"], {}, outputs)}


def _stack(folder: Path, name: str, resource: Mapping[str, Any], outputs: dict[str, Any]) -> Template:
    """Return a stack's template with its parameters replaced by the given values. Adds its outputs to `outputs`.

    A condition of the nested stack becomes one of its resources.
    """
    properties = resource["Properties"]
    file = folder / next(properties[field] for field in NESTED.values() if field in properties)
    template = load(file)
    parameters = _given(properties.get("Parameters", {}), {}, outputs)
    if parameters.keys() != template["Parameters"].keys():
        raise ValueError(f"{file.name}: its parameters are not those that the root passes")
    stack: Template = _moved(_given(template, parameters, outputs), os.path.relpath(file.parent, folder))
    for inner in stack["Resources"].values() if "Condition" in resource else ():
        if "Condition" in inner:
            raise ValueError(f"{file.name}: the stack has a condition, so its resources cannot have another")
        inner["Condition"] = resource["Condition"]
    outputs |= {f"{name}.Outputs.{output}": body["Value"] for output, body in stack.get("Outputs", {}).items()}
    return stack


def _given(value: Any, parameters: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Replace parameters and outputs of other stacks by their values in a part of a template."""
    match value:
        case {"Ref": str(name)} if name in parameters:
            return parameters[name]
        case {"Fn::GetAtt": [str(name), str(output)]} if output.startswith("Outputs."):
            return outputs[f"{name}.{output}"]
        case {"Fn::Split": [str(separator), text]}:
            match _given(text, parameters, outputs):
                case {"Fn::Join": [str(joined), list(parts)]} if joined == separator:
                    return parts
                case other:
                    return {"Fn::Split": [separator, other]}
        case {"Fn::Sub": str(text)}:
            return {"Fn::Sub": re.sub(r"\$\{(\w+)\}", lambda found: _text(parameters, found), text)}
        case dict():
            return {key: _given(inner, parameters, outputs) for key, inner in value.items()}
        case list():
            return [_given(inner, parameters, outputs) for inner in value]
    return value


def _text(parameters: Mapping[str, Any], found: re.Match[str]) -> str:
    return _reference(parameters[found[1]]) if found[1] in parameters else found[0]


def _reference(value: Any) -> str:
    """Convert a value to the notation of `Fn::Sub`."""
    match value:
        case {"Ref": str(name)}:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"${{{name}.{attribute}}}"
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(map(_reference, parts))
    return str(value)


def _moved(value: Any, folder: str) -> Any:
    """Move a part of a template to the root's folder, with paths relative to that."""
    match value:
        case dict():
            return {
                key: os.path.normpath(os.path.join(folder, inner)) if key in LOCATIONS else _moved(inner, folder)
                for key, inner in value.items()
            }
        case list():
            return [_moved(inner, folder) for inner in value]
    return value


def _lower(stack: Template, common: set[str]) -> None:
    """Keep the variables that all stacks share in the Globals, and move stack-specific ones to its functions."""
    if "Globals" not in stack:
        return
    shared = stack["Globals"]["Function"]["Environment"]
    own = {name: value for name, value in shared["Variables"].items() if name not in common}
    shared["Variables"] = {name: shared["Variables"][name] for name in sorted(common)}
    for properties in of_type(stack, FUNCTION).values() if own else ():
        environment = properties.setdefault("Environment", {})
        environment["Variables"] = {**own, **environment.get("Variables", {})}


def _join(whole: dict[str, Any], part: Mapping[str, Any]) -> None:
    for name, body in part.items():
        if whole.setdefault(name, body) != body:
            raise ValueError(f"{name}: two stacks declare it in different ways")
