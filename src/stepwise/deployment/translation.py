"""The template as SAM translates it for a Region, and CloudFormation gets it."""

import copy
import logging
from collections.abc import Mapping

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.utils.py27hash_fix import to_py27_compatible_template, undo_mark_unicode_str_in_template

from .templates import DEFINITION, FUNCTION, MACHINE, NESTED, SAM_DEFINITION, SAM_MACHINE, Template, of_type

# Where the translator expects the packages that `sam deploy` uploads.
_UPLOADED = {
    FUNCTION: "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    SAM_MACHINE: SAM_DEFINITION,
    **NESTED,
}
_PLACE = "s3://packages-of-this-stack/"

logging.getLogger("samtranslator").setLevel(logging.CRITICAL)  # errors of the template are raised as well


def uploaded(template: Template, place: str = _PLACE) -> Template:
    """Return the template as if its packages were in S3. A package's address depends only on its path."""
    template = copy.deepcopy(template)
    for kind, field in _UPLOADED.items():
        for name, properties in of_type(template, kind).items():
            if not str(properties.get(field)).startswith(("s3://", "https://", "http://")):
                properties[field] = f"{place}{name}"
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    for name, properties in of_type(template, MACHINE).items():
        if isinstance(properties.get(DEFINITION), str):
            properties[DEFINITION] = {"Bucket": bucket, "Key": f"{prefix}{name}"}
    return template


def translated(template: Template, region: str, parameters: Mapping[str, str] | None = None) -> Template:
    """Translate the template for a Region into plain resources. Raises samtranslator's InvalidDocumentException.

    Like samtranslator's `transform`, which takes the Region from the environment.
    """
    given, values = uploaded(template), dict(parameters or {})
    to_py27_compatible_template(given, values)
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=region))
    result: Template = undo_mark_unicode_str_in_template(translator.translate(given, parameter_values=values))
    return result
