"""Sends generated requests: every operation of the OpenAPI document, with changed examples and unusual headers.

Schemathesis draws requests that the document allows or clearly forbids. This script sends far more, and stranger ones:
values of other operations, extremes, broken bytes, paths and queries of any characters. Failures are: a 5xx status, an
error without the usual body, a connection that is closed without a response, and a server that has ended. A 503 with
Retry-After means that the service is busy, and is counted separately.
"""

import argparse
import collections
import gzip
import http.client
import json
import multiprocessing
import pathlib
import random
import sys
import time
import urllib.parse
import zlib

METHODS = ["get", "put", "post", "delete", "patch"]
# Values that no field expects.
ODD = [
    None, True, False, 0, -1, 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**64, 1e308, -1e-320, 0.1, "", " ", "\0", "null",
    "NaN", "é€\u202e", "a" * 5_000, "<script>alert(1)</script>", "'; drop table dvf; --", "../../etc/passwd", "%00",
    "*", "$", "[", "{}", "2026-02-30", "9999-12-31T23:59:60Z", "00000000-0000-0000-0000-000000000000",
    "javascript:alert(1)", [], {}, [[]], [None], {"": {}}, [0] * 200,
]
ACCEPTS = ["application/json", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "text/csv",
           "application/geo+json", "*/*", "text/html", "", "application/json;q=0", "é"]
TYPES = ["application/json", "text/plain", "application/json; charset=latin-1", "multipart/form-data; boundary=x", "",
         "é/é"]
SHOWN_MAX = 20
TIMEOUT_S = 60
# One request in this many has changed bytes in its body, or another unusual trait.
SELDOM = 12
PROCESSES = 3
# Number of values kept as material, and the maximum length of a response from which values are taken.
MATERIAL_MAX = 5_000
LEARNED_BYTES_MAX = 50_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ready", type=pathlib.Path, help="what the demo printed")
    parser.add_argument("--pid", type=int, required=True, help="process of the server")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def resolved(document, value):
    while isinstance(value, dict) and "$ref" in value:
        found = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        value = found
    return value


def operations(document):
    """Each operation: method, path, parameters by place, examples of bodies."""
    found = []
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            named = item.get("parameters", []) + operation.get("parameters", [])
            parameters = [resolved(document, one) for one in named]
            bodies = []
            content = resolved(document, operation.get("requestBody", {})).get("content", {})
            for kind, media in content.items():
                schema = resolved(document, media.get("schema", {}))
                given = [example["value"] for example in media.get("examples", {}).values() if "value" in example]
                given += [media["example"]] if "example" in media else []
                given += schema.get("examples", [])
                bodies += [(kind, example) for example in given or [{}]]
            found.append((method.upper(), path, parameters, bodies))
    return found


def scalars(value):
    """All values inside examples, as material for other fields."""
    if isinstance(value, dict):
        return [one for inner in value.values() for one in scalars(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in scalars(inner)]
    return [value]


def places(value, path=()):
    """The paths of all values inside a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value, draw, material):
    """A copy in which one value is replaced, removed, repeated or nested."""
    value = json.loads(json.dumps(value))
    path = draw.choice(list(places(value)))
    new = draw.choice(ODD) if draw.random() < 0.6 else draw.choice(material)
    if not path:
        return new
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    key, act = path[-1], draw.random()
    if act < 0.6:
        holder[key] = new
    elif act < 0.75:
        del holder[key]
    elif act < 0.85 and isinstance(holder, dict):
        holder[draw.choice(["id", "size", "flxId", "é", "", key + "s", key.upper()])] = new
    elif act < 0.95:
        holder[key] = [holder[key]] * draw.choice([2, 3, 150])
    else:
        for _ in range(draw.choice([1, 5, 140])):
            holder[key] = {"a": holder[key]} if draw.random() < 0.5 else [holder[key]]
    return value


def broken(body, draw):
    """The bytes with some of them changed, removed or repeated."""
    body = bytearray(body)
    for _ in range(draw.randint(1, 4)):
        if not body:
            break
        at = draw.randrange(len(body))
        act = draw.random()
        if act < 0.4:
            body[at] = draw.randrange(256)
        elif act < 0.6:
            del body[at:at + draw.randint(1, 30)]
        elif act < 0.8:
            body[at:at] = body[at:at + draw.randint(1, 100)] * draw.randint(1, 5)
        else:
            del body[at:]
    return bytes(body)


def parameter_value(parameter, draw, material):
    schema = parameter.get("schema", {})
    known = schema.get("enum", []) + schema.get("examples", [])
    known += [parameter["example"]] if "example" in parameter else []
    known += [example["value"] for example in parameter.get("examples", {}).values() if "value" in example]
    known += [schema["default"]] if "default" in schema else []
    choice = draw.random()
    if known and choice < 0.6:
        return draw.choice(known)
    if schema.get("type") in ("integer", "number") and choice < 0.8:
        return draw.choice([0, 1, 5, -1, 10_000, 48.85, 2.35, 14])
    return draw.choice(ODD) if choice < 0.9 else draw.choice(material)


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def request(draw, found, material, keys):
    """Draws one request: method, target, headers, body."""
    method, path, parameters, bodies = draw.choice(found)
    own, other = keys if "/admin/" not in path else reversed(keys)
    key = other if draw.randrange(SELDOM) == 0 else own
    query = []
    for parameter in parameters:
        is_learned = parameter["in"] == "path" and draw.random() < 0.6
        value = text_of(draw.choice(material) if is_learned else parameter_value(parameter, draw, material))
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", urllib.parse.quote(value, safe="") or "-")
        elif parameter["in"] == "query" and (parameter.get("required") or draw.random() < 0.5):
            query += [(parameter["name"], value)] * draw.choice([1, 1, 1, 1, 2])
    headers = {"x-api-key": key}
    body = None
    if bodies:
        kind, example = draw.choice(bodies)
        headers["content-type"] = kind
        if draw.random() < 0.85:
            for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
                example = changed(example, draw, material)
        is_text = isinstance(example, str) and not kind.endswith("json")
        body = (example if is_text else json.dumps(example)).encode(errors="surrogatepass")
        if draw.randrange(SELDOM) == 0:
            body = broken(body, draw)
    if draw.randrange(SELDOM) == 0:
        headers["accept"] = draw.choice(ACCEPTS).encode().decode("latin-1")
    if draw.randrange(SELDOM) == 0:
        headers["content-type"] = draw.choice(TYPES).encode().decode("latin-1")
    if draw.randrange(SELDOM) == 0:
        headers["idempotency-key"] = draw.choice(["a", "", "k" * 300, str(draw.randrange(50))])
    if draw.randrange(SELDOM) == 0:
        headers["accept-encoding"] = draw.choice(["gzip", "zstd", "br", "gzip;q=0, *", "identity"])
    if draw.randrange(SELDOM) == 0:
        method = draw.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"])
    if draw.randrange(SELDOM) == 0:
        query.append((text_of(draw.choice(ODD)), text_of(draw.choice(ODD))))
    target = path + ("?" + urllib.parse.urlencode(query, errors="replace") if query else "")
    return method, target[:7_000], headers, body


def fault_of(method, status, headers, body):
    """The fault of a response, or None."""
    if status >= 500 and not (status == 503 and "retry-after" in headers):
        return f"status {status}"
    coding = headers.get("content-encoding", "")
    # Before Python 3.14 the standard library cannot read zstd. Such a body is made in the same way as a gzip body.
    if status >= 400 and method != "HEAD" and coding in ("", "gzip"):
        try:
            error = json.loads(gzip.decompress(body) if coding else body)
        except (ValueError, OSError, EOFError, zlib.error):
            return f"status {status} without a JSON body"
        if not isinstance(error, dict) or not error:
            return f"status {status} with a body that is no error"
    return None


def learn(material, text, draw, kept):
    """Takes values of a response as material, because identifiers occur in them. Replaces older ones if there are
    many."""
    try:
        texts = [value for value in scalars(json.loads(text)) if isinstance(value, str)]
    except ValueError:
        return
    values = [value for value in texts if value and value not in kept]
    for value in draw.sample(values, min(len(values), 20)):
        if len(material) < MATERIAL_MAX:
            material.append(value)
        else:
            material[draw.randrange(MATERIAL_MAX)] = value


def flood(address, keys, kept, document, count, seed):
    """Sends `count` requests; returns the number of each status and the first faults. Never uses values in `kept`."""
    draw, found = random.Random(seed), operations(document)
    material = [one for _, _, _, bodies in found for _, example in bodies for one in scalars(example)]
    statuses, faults = collections.Counter(), []
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    for _ in range(count):
        method, target, headers, body = request(draw, found, material, keys)
        fault = None
        for is_last in (False, True):
            try:
                connection.request(method, target, body, headers)
                answer = connection.getresponse()
                text = answer.read()
                statuses[answer.status] += 1
                if answer.status == 200 and len(text) < LEARNED_BYTES_MAX and draw.randrange(SELDOM) == 0:
                    learn(material, text, draw, kept)
                told = {name.lower(): value for name, value in answer.headers.items()}
                fault = fault_of(method, answer.status, told, text)
                if fault:
                    fault += f": {text[:300]!r}"
                break
            except (http.client.HTTPException, OSError) as error:
                # The connection may have been closed because it was idle; a new one must get a response.
                connection.close()
                if is_last:
                    fault = f"no answer: {error!r}"
        if fault:
            statuses["faults"] += 1
            if len(faults) < SHOWN_MAX:
                faults.append((fault, method, target, headers, (body or b"")[:2_000]))
    return statuses, faults


def part(argument):
    return flood(*argument)


def main():
    options = arguments()
    ready = json.loads(options.ready.read_text(encoding="utf-8"))
    address = ready["address"].removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    connection.request("GET", "/openapi.json")
    document = json.loads(connection.getresponse().read())
    keys = [ready["key"], ready["admin_key"]]
    # If these keys were revoked or limited, all further requests would be refused.
    kept = set()
    for path in ("keys", "accounts"):
        connection.request("GET", f"/v2/protected/admin/{path}", headers={"x-api-key": ready["admin_key"]})
        kept.update(one for one in scalars(json.loads(connection.getresponse().read())) if isinstance(one, str))
    began = time.perf_counter()
    share = options.requests // PROCESSES + 1
    parts = [(address, keys, kept, document, share, options.seed * 1_000 + nth) for nth in range(PROCESSES)]
    statuses, faults = collections.Counter(), []
    with multiprocessing.Pool(PROCESSES) as pool:
        for counted, found in pool.imap_unordered(part, parts):
            statuses += counted
            faults += found
    seconds = time.perf_counter() - began
    sent = sum(count for status, count in statuses.items() if status != "faults")
    status = pathlib.Path(f"/proc/{options.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else ["VmHWM: the server has ended"]
    memory = [line for line in lines if line.startswith("VmHWM")]
    by_status = ", ".join(f"{count:,} × {status}" for status, count in sorted(statuses.items(), key=str))
    print(f"{sent:,} answers in {seconds:.0f} s ({sent / seconds:.0f}/s): {by_status}; {' '.join(memory[0].split())}")
    for fault, method, target, headers, body in faults[:SHOWN_MAX]:
        print(f"\n{fault}\n  {method} {target[:500]}\n  {headers}\n  {body!r}")
    sys.exit(1 if faults or not status.exists() else 0)


if __name__ == "__main__":
    main()
