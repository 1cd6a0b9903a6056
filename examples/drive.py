#!/usr/bin/env python3
"""Drives a sandbox over HTTP. Usage: eval "$(od-runtime env SANDBOX)"; python3 drive.py"""
import json
import os
import urllib.request
import uuid


def call(method, path, body=None, key=None):
    headers = {"X-Session-API-Key": os.environ["OD_KEY"], "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(os.environ["OD_URL"] + path, data, headers, method=method))


# The key makes the request safe to repeat: the second call returns the process that the first one started.
key = str(uuid.uuid4())
request = {"argv": ["sh", "-c", "while read line; do echo \"got $line\"; done; exit 3"], "stdin": True}
process = json.load(call("POST", "/v1/processes", request, key))
again = json.load(call("POST", "/v1/processes", request, key))
print("same process:", process["id"] == again["id"])

path = f"/v1/processes/{process['id']}"
call("PUT", path + "/stdin?close=true", b"one\ntwo\n")
for line in call("GET", path + "/stdout?follow=true"):
    print("stdout:", line.decode().rstrip())
print("exit code:", json.load(call("GET", path + "?wait=10"))["exit_code"])
call("DELETE", path)
