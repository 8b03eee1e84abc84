"""The check that what the document forbids is rejected, but for one leniency that its schemas leave out: `null` for an
optional field stands for leaving it out, as clients of the original service write it.

A body that is accepted must fit its schema once such nulls are left out. A `null` where a field is required, in a list
or beside another fault is rejected like any other.
"""

import jsonschema_rs
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection

JSON = "application/json"


def without_nulls(value):
    """A body as it is read: fields that are null are absent."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def is_lenient(case):
    """Whether nulls of optional fields are all that is wrong with a request."""
    parts = case.meta.components if case.meta else {}
    wrong = {place for place, part in parts.items() if part.mode.is_negative}
    if wrong != {ParameterLocation.BODY} or case.media_type != JSON or not isinstance(case.body, dict):
        return False
    document = case.operation.schema.raw_schema
    schema = document["paths"][case.operation.path][case.method.lower()]["requestBody"]["content"][JSON]["schema"]
    # References lead into the components.
    schema = {**schema, "components": document["components"]}
    body = without_nulls(case.body)
    return body != case.body and jsonschema_rs.is_valid(schema, body, validate_formats=True)


@schemathesis.check
def forbidden_data_rejection(ctx, response, case):
    """Fails where invalid data was accepted."""
    return None if is_lenient(case) else negative_data_rejection(ctx, response, case)
