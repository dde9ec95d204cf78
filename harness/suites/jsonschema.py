"""The JSON schema of suite files, for editors (suites/schema.json)."""

from __future__ import annotations

import json
from typing import Any

from harness.suites.schema import Suite

__all__ = ["schema", "schema_text"]


def schema() -> dict[str, Any]:
    """Draft 2020-12. Nothing but `name` is required, since `extends` may bring the rest."""
    made = Suite.model_json_schema(mode="validation")
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "A suite of policy-harness"
    made["required"] = ["name"]
    properties = made["properties"]
    properties["extends"] = {"type": "string", "description": "Name or path of a suite that this one changes."}
    properties["seeds"] = {
        "description": properties["seeds"]["description"],
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string"},
            {"type": "array", "items": {"type": "integer"}},
        ],
        "default": 5,
    }
    return made


def schema_text() -> str:
    """The schema as it is written to suites/schema.json."""
    return json.dumps(schema(), indent=2) + "\n"
