"""The check that what the document forbids is rejected, but for one leniency that its schemas leave out: `null` for an
optional field stands for leaving it out, as clients of the original service write it. That `null` is rejected where
a field is required is a test of the contract (`a_missing_required_field_is_named`)."""

import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection


def holds_null(value):
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    if isinstance(value, list):
        return any(map(holds_null, value))
    return value is None


@schemathesis.check
def forbidden_data_rejection(ctx, response, case):
    """Fails where invalid data without a `null` was accepted."""
    return None if holds_null(case.body) else negative_data_rejection(ctx, response, case)
