"""A client of the stream by the package websockets: python3 stream_peer.py URL KEY."""
import asyncio
import json
import struct
import sys
import zlib

import websockets


async def talk(url, key):
    got, text = 0, b""
    async with websockets.connect(url, extra_headers={"X-Session-API-Key": key}) as ws:
        async for data in ws:
            if isinstance(data, bytes):
                assert zlib.crc32(data[24:]) == struct.unpack(">I", data[20:24])[0]
                got += len(data) - 24
                text += data[24:] if len(text) < 100000 else b""
                await ws.send(json.dumps({"type": "ack", "id": 1, "bytes": got}))
                continue
            m = json.loads(data)
            if m["type"] == "hello":
                print("hello", m["version"])
                await ws.send(json.dumps({"type": "open", "id": 1, "kind": "terminal",
                                          "rows": 20, "columns": 50}))
            elif m["type"] == "opened":
                keys = b'stty size; head -c 3000000 /dev/zero | tr "\\0" x; exit 7\r'
                await ws.send(struct.pack(">BxxxIQII", 3, 1, 0, len(keys), zlib.crc32(keys)) +
                              keys)
                await (await ws.ping())
                print("pong")
            elif m["type"] == "closed":
                print("closed", m["exit_code"], got > 3000000, b"20 50" in text)
                break
    print("end", ws.close_code)


asyncio.run(talk(*sys.argv[1:]))
