"""The template as data, with CloudFormation's tags in their long form."""

from pathlib import Path
from typing import Any

import yaml

type Template = dict[str, Any]

FUNCTION = "AWS::Serverless::Function"
# Not SAM's type, which cannot set a key. SAM packages the file of its definition, too.
MACHINE, DEFINITION = "AWS::StepFunctions::StateMachine", "DefinitionS3Location"
# SAM's type, for a machine with events.
SAM_MACHINE, SAM_DEFINITION = "AWS::Serverless::StateMachine", "DefinitionUri"
# The properties that name a nested stack's template.
NESTED = {"AWS::Serverless::Application": "Location", "AWS::CloudFormation::Stack": "TemplateURL"}
# Properties that name a file or a folder beside the template.
LOCATIONS = {"CodeUri", "ContentUri", DEFINITION, SAM_DEFINITION}


class _Loader(yaml.CSafeLoader):
    """Loads YAML with CloudFormation's tags: `!GetAtt A.Arn` is {"Fn::GetAtt": ["A", "Arn"]}."""


def _long_form(loader: _Loader, name: str, node: yaml.Node) -> Template:
    value: Any = None
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _long_form)


def load(path: Path) -> Template:
    template: Template = _Loader(path.read_text()).get_single_data()
    return template


def dump(template: Template) -> str:
    text: str = yaml.dump(template, Dumper=yaml.CSafeDumper, sort_keys=False, width=4096)
    return text


def of_type(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Return the properties of all resources of a type, by logical id."""
    resources = template["Resources"]
    return {name: body.get("Properties", {}) for name, body in resources.items() if body["Type"] == kind}
