#!/usr/bin/env python3
"""Executes a command in a sandbox over MCP. Usage: python3 mcp.py SANDBOX|IMAGE COMMAND"""
import json
import subprocess
import sys

server = subprocess.Popen(["od-runtime", "mcp", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def call(number, method, params):
    send({"id": number, "method": method, "params": params})
    return json.loads(server.stdout.readline())["result"]


client = {"name": "example", "version": "1"}
call(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
send({"method": "notifications/initialized"})
print("tools:", *(tool["name"] for tool in call(2, "tools/list", {})["tools"]))
print(call(3, "tools/call", {"name": "bash", "arguments": {"command": sys.argv[2]}})["content"][0]["text"])
server.stdin.close()
sys.exit(server.wait())
