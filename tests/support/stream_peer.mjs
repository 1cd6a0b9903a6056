// A peer of the stream with what npm has: node stream_peer.mjs ws|undici|serve ARGUMENT...
//   ws URL KEY, undici URL KEY   a client: opens a terminal, types, acknowledges
//   serve PORT                   a backend by ws, for a sandbox that dials out
import { crc32 } from 'node:zlib';

const table = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n >>> 0;
});
const sum = crc32 ?? (b => {
  let c = ~0;
  for (const x of b) c = (c >>> 8) ^ table[(c ^ x) & 255];
  return ~c >>> 0;
});

function frame(id, at, bytes) {
  const f = Buffer.alloc(24 + bytes.length);
  f[0] = 3;
  f.writeUInt32BE(id, 4);
  f.writeBigUInt64BE(BigInt(at), 8);
  f.writeUInt32BE(bytes.length, 16);
  f.writeUInt32BE(sum(bytes), 20);
  bytes.copy(f, 24);
  return f;
}

// Speaks on an open WebSocket, and ends the program.
function talk(ws, key, kind) {
  let text = '', answer = '', state, got = 0;
  const say = o => ws.send(JSON.stringify(o));
  const type = s => ws.send(frame(1, 0, Buffer.from(s)));
  ws.binaryType = 'arraybuffer';
  ws.onmessage = ({ data }) => {
    if (typeof data === 'string') {
      const m = JSON.parse(data);
      if (m.type === 'hello') {
        console.log('hello', m.version, m.box);
        say({ type: 'open', id: 1, kind, rows: 20, columns: 50 });
      } else if (m.type === 'ended') {
        state = m.state;
      } else if (m.type === 'closed' && m.id === 2) {
        console.log('answer', state, JSON.parse(answer).content === 'an-answer');
        ws.close(1000, 'done');
      } else if (m.type === 'opened' && m.id === 1) {
        type(kind === 'http' ? `GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: ${key}\r\nConnection: close\r\n\r\n`
          : 'stty size; head -c 3000000 /dev/zero | tr "\\0" x; exit 7\r');
      } else if (m.type === 'closed') {
        console.log('closed', m.exit_code ?? '-', got > 3000000, /20 50/.test(text), /200 OK/.test(text));
        if (kind === 'http') ws.close(1000, 'done');
        else say({ type: 'open', id: 2, kind: 'action', action_id: 'a-' + process.pid,
          action: { action: 'run', args: { command: 'echo an-answer' } } });
      }
      return;
    }
    const b = Buffer.from(data);
    if (sum(b.subarray(24)) !== b.readUInt32BE(20)) throw new Error('checksum');
    if (b[0] === 4) { answer += b.subarray(24); return; }
    if (b.readUInt32BE(4) === 2) return;
    got += b.length - 24;
    if (text.length < 100000) text += b.subarray(24).toString('latin1');
    say({ type: 'ack', id: 1, bytes: got });
  };
  ws.onclose = e => { console.log('end', e.code, e.reason); process.exit(0); };
  ws.onerror = e => { console.log('error', e.message ?? e.error?.message); process.exit(1); };
}

const [what, where, key] = process.argv.slice(2);
if (what === 'ws') {
  const { WebSocket } = await import('ws');
  talk(new WebSocket(where, { headers: { 'X-Session-API-Key': key } }), key, 'terminal');
} else if (what === 'undici') {
  const { WebSocket } = await import('undici');
  talk(new WebSocket(where, ['od.stream.v1', 'od.key.' + key]), key, 'terminal');
} else {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({ host: '127.0.0.1', port: Number(where) });
  server.on('listening', () => console.log('listening'));
  server.on('connection', ws => talk(ws, key, 'http'));
}
