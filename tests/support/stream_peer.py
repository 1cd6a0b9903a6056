"""A client of the stream by the package websockets: python3 stream_peer.py URL KEY."""
import asyncio
import json
import struct
import sys
import zlib

import websockets


async def talk(url, key):
    got, text, answer, states = {1: 0, 2: 0, 3: 0}, b"", b"", []
    async with websockets.connect(url, extra_headers={"X-Session-API-Key": key}) as ws:
        async def say(**frame):
            await ws.send(json.dumps(frame))
        async for data in ws:
            if isinstance(data, bytes):
                assert zlib.crc32(data[24:]) == struct.unpack(">I", data[20:24])[0]
                kind, id = struct.unpack(">BxxxI", data[:8])
                got[id] += len(data) - 24
                if kind == 4:
                    answer += data[24:]
                elif id == 3:
                    states += [json.loads(line)["state"] for line in data[24:].splitlines()]
                elif len(text) < 100000:
                    text += data[24:]
                await say(type="ack", id=id, bytes=got[id])
                if states[-1:] == ["done"]:
                    print("events", *states)
                    break
                continue
            m = json.loads(data)
            if m["type"] == "hello":
                print("hello", m["version"])
                await say(type="open", id=1, kind="terminal", rows=20, columns=50)
            elif m["type"] == "opened" and m["id"] == 1:
                keys = b'stty size; head -c 3000000 /dev/zero | tr "\\0" x; exit 7\r'
                await ws.send(struct.pack(">BxxxIQII", 3, 1, 0, len(keys), zlib.crc32(keys)) +
                              keys)
                await (await ws.ping())
                print("pong")
            elif m["type"] == "closed" and m["id"] == 1:
                print("closed", m["exit_code"], got[1] > 3000000, b"20 50" in text)
                await say(type="open", id=2, kind="action", action_id="a",
                          action={"action": "run", "args": {"command": "echo an-answer"}})
            elif m["type"] == "ended":
                state = m["state"]
            elif m["type"] == "closed":
                print("answer", state, json.loads(answer)["content"] == "an-answer")
                await say(type="open", id=3, kind="events", offset=1)
    print("end", ws.close_code)


asyncio.run(talk(*sys.argv[1:]))
