// A member of a group that shares ports, which says of prefixes that they were somebody's: `node sharing-liar.js DIRECTORY CLAIMS`, the latter as JSON:
// `[[PREFIX, USER], ...]`. Says `listening`.
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';

const [directory, text] = process.argv.slice(2);

// As crates/stack/src/sharing/message.rs has it: numbers of seven bits a byte, the least first.
const VERSION = 3;
const WELCOME = 1;
const [NO, YES] = [0, 1];

function number(value) {
  const bytes = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

function string(value) {
  return [...number(value.length), ...Buffer.from(value)];
}

const claims = JSON.parse(text);
const said = claims.flatMap(([prefix, user]) => [...string(prefix), ...number(user), YES]);
const message = [WELCOME, ...number(VERSION), NO, ...number(0), ...number(claims.length), ...said];
const length = Buffer.alloc(4);
length.writeUInt32LE(message.length);
const welcome = Buffer.concat([length, Buffer.from(message)]);

/** So many that one is found before those of others, in whatever order a directory gives its names. */
const DOORS = 16;

for (let at = 1; at <= DOORS; at++) {
  const door = join(directory, `${at}.0123456789abcdef`);
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(welcome));
  });
  await once(server.listen(door), 'listening');
  chmodSync(door, 0o660);
}
console.log('listening');
