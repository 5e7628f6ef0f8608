"""The template as data: with CloudFormation's tags in their long form, and as SAM translates it for a Region."""

import copy
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import yaml
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.utils.py27hash_fix import to_py27_compatible_template, undo_mark_unicode_str_in_template

type Template = dict[str, Any]

FUNCTION = "AWS::Serverless::Function"
# Where the translator expects what `sam deploy` has uploaded.
_UPLOADED = {
    FUNCTION: "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::Serverless::StateMachine": "DefinitionUri",
}
_PLACE = "s3://packages-of-this-stack/"

logging.getLogger("samtranslator").setLevel(logging.CRITICAL)  # what is wrong with a template is raised as well


class _Loader(yaml.CSafeLoader):
    """YAML with CloudFormation's tags: `!GetAtt A.Arn` is {"Fn::GetAtt": ["A", "Arn"]}."""


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
    return yaml.safe_dump(template, sort_keys=False, width=4096)


def of_type(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """The properties of all resources of a type, by logical id."""
    resources = template["Resources"]
    return {name: body.get("Properties", {}) for name, body in resources.items() if body["Type"] == kind}


def uploaded(template: Template, place: str = _PLACE) -> Template:
    """The template as if its packages lay in S3. A package's address follows from its path alone."""
    template = copy.deepcopy(template)
    for kind, field in _UPLOADED.items():
        for name, properties in of_type(template, kind).items():
            if not str(properties.get(field)).startswith("s3://"):
                properties[field] = f"{place}{name}"
    return template


def translated(template: Template, region: str, parameters: Mapping[str, str] | None = None) -> Template:
    """What CloudFormation makes of it in a Region: plain resources. Raises samtranslator's InvalidDocumentException.

    As samtranslator's own `transform`, which takes the Region from the environment.
    """
    given, values = uploaded(template), dict(parameters or {})
    to_py27_compatible_template(given, values)
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=region))
    result: Template = undo_mark_unicode_str_in_template(translator.translate(given, parameter_values=values))
    return result
