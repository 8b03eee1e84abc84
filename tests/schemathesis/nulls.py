"""Checks that everything the document forbids is rejected, with one exception that its schemas do not mention: `null`
may stand for an absent optional field, because clients of the original service send it.

Without such nulls, an accepted body must conform to its schema. A `null` for a required field, in a list, or together
with another fault must be rejected.
"""

import jsonschema_rs
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection

JSON = "application/json"


def without_nulls(value):
    """The body as the service reads it: fields that are null are absent."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def is_lenient(case):
    """Whether nulls of optional fields are the only faults of a request."""
    parts = case.meta.components if case.meta else {}
    wrong = {place for place, part in parts.items() if part.mode.is_negative}
    if wrong != {ParameterLocation.BODY} or case.media_type != JSON or not isinstance(case.body, dict):
        return False
    document = case.operation.schema.raw_schema
    schema = document["paths"][case.operation.path][case.method.lower()]["requestBody"]["content"][JSON]["schema"]
    # References point to the components.
    schema = {**schema, "components": document["components"]}
    body = without_nulls(case.body)
    return body != case.body and jsonschema_rs.is_valid(schema, body, validate_formats=True)


@schemathesis.check
def forbidden_data_rejection(ctx, response, case):
    """Fails if invalid data was accepted."""
    return None if is_lenient(case) else negative_data_rejection(ctx, response, case)
