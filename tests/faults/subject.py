"""The explored saga, one per process. `EXPLORE` names its module; the workers inherit it."""

import importlib
import os

from tests.faults.subjects import Subject

SUBJECT: Subject = importlib.import_module(f"tests.faults.subjects.{os.environ.get('EXPLORE', 'orders')}").SUBJECT
