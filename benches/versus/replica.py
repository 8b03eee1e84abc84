"""Compares a replica's start from an empty disk with a plain download of the objects, and times its updates.

A data folder of sales is published to an S3 server on loopback. This server is moto, in Python, so that it limits both
sides. In each round, curl downloads every object that the manifest names to the same disk, eight at a time. In turn,
`toise serve --replica` starts in an empty folder and is asked for sales until it responds. In addition to downloading,
the replica verifies every byte, installs the files and opens them.
"""

import argparse
import http.client
import json
import logging
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import boto3
from moto.server import ThreadedMotoServer

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402

BUCKET = "toise"
DOWNLOADS_AT_ONCE = 8
PATIENCE_S = 600
QUESTION = json.dumps({"size": 1})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="data folder; made when missing")
    parser.add_argument("--sales", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="also write benches/results/replica.json")
    return parser.parse_args()


def serve_objects():
    """Starts the S3 server with a bucket; returns its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    s3 = boto3.client("s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="test",
                      aws_secret_access_key="test")
    s3.create_bucket(Bucket=BUCKET)
    return s3, address


def download(s3, address, folder):
    """Downloads every object of the newest manifest with curl; returns the seconds and the number of bytes."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="lake/objects/")
    objects = [(found["Key"], found["Size"]) for page in pages for found in page["Contents"]]
    lines = [f'url = "{address}/{BUCKET}/{key}"\noutput = "{folder}/{key.rsplit("/", 1)[1]}"\n' for key, _ in objects]
    started = time.perf_counter()
    subprocess.run(["curl", "--silent", "--no-progress-meter", "--fail", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "test:test", "--parallel",
                    "--parallel-max", str(DOWNLOADS_AT_ONCE), "--config", "-"],
                   input="".join(lines), text=True, check=True)
    seconds = time.perf_counter() - started
    size = sum(size for _, size in objects)
    arrived = sum(path.stat().st_size for path in folder.iterdir())
    if arrived != size:
        raise SystemExit(f"curl brought {arrived} of {size} bytes")
    return seconds, size, len(objects)


def first_answer(options, environment, key, folder):
    """Returns the seconds from the start of a replica in an empty folder to its first response."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [options.toise, "--data", str(folder), "--json", "serve", "--listen", "127.0.0.1:0", "--replica",
         f"s3://{BUCKET}/lake"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        address = json.loads(process.stdout.readline())["address"].removeprefix("http://")
        headers = {"x-api-key": key, "content-type": "application/json"}
        while True:
            connection = http.client.HTTPConnection(address)
            connection.request("POST", "/v2/protected/opendata/dvf/search", QUESTION, headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 200 and json.loads(body)["data"]:
                return time.perf_counter() - started
            if time.perf_counter() - started > PATIENCE_S:
                raise SystemExit(f"the replica answers {answer.status}: {body[:300]!r}")
            time.sleep(0.005)
    finally:
        process.terminate()
        process.wait()


def main():
    options = arguments()
    if not (options.data / "lake" / "_dvf" / "snapshot.json").exists():
        subprocess.run([options.toise, "--data", str(options.data), "synth", "--lake", "--dvf", str(options.sales)],
                       check=True, stdout=sys.stderr)
    made = subprocess.run([options.toise, "--data", str(options.data), "keys", "create", "--kind", "production", "--rate",
                           "100000", "--json"], check=True, capture_output=True, text=True)
    key = json.loads(made.stdout)["key"]
    s3, address = serve_objects()
    environment = {**os.environ, "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "test",
                   "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "RUST_LOG": "error"}
    began = time.perf_counter()
    subprocess.run([options.toise, "--data", str(options.data), "publish", f"s3://{BUCKET}/lake"], check=True,
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    publication = time.perf_counter() - began
    bare, replica = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=options.data.parent) as folder:
            seconds, size, count = download(s3, address, pathlib.Path(folder))
            bare.append(seconds)
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.data.parent))
        replica.append(first_answer(options, environment, key, folder))
        shutil.rmtree(folder)
        print(f"download {bare[-1]:.2f} s, replica {replica[-1]:.2f} s", file=sys.stderr)
    ratio = statistics.median(replica) / statistics.median(bare)
    print(f"{count} objects, {size / 1e6:.0f} MB, published in {publication:.1f} s: download "
          f"{statistics.median(bare):.2f} s, first answer {statistics.median(replica):.2f} s, {ratio:.2f} times")
    if options.json:
        results.write("replica", f"benches/versus/replica.sh {options.sales} --json", [
            results.row(f"{options.sales:,} sales, {size / 1e6:.0f} MB in {count} objects",
                        results.figure(statistics.median(bare), "s", name="bare download"),
                        results.figure(statistics.median(replica), "s", name="replica, first answer"),
                        results.figure(ratio, "ratio", name="ratio"))],
            {"rounds": options.rounds})


if __name__ == "__main__":
    main()
