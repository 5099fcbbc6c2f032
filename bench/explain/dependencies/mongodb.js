// A server that speaks as much of MongoDB's wire protocol as a driver needs to connect, to watch the server and to find
// one document: the answer to `find` comes `ms` later, at most `permits` at a time over all connections.
import { createServer } from 'node:net';
import { BSON } from 'mongodb';
import { permits } from '../permits.js';
import { ready } from './ready.js';

const { ms, permits: count = Infinity } = JSON.parse(process.argv[2]);
const admit = permits(count);

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

const HELLO = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 21,
  readOnly: false,
};

/** Answers to a command, whose name is its first field. */
async function answer(command) {
  const [name] = Object.keys(command);
  if (/^(hello|ismaster)$/i.test(name)) return { ...HELLO, localTime: new Date(), ok: 1 };
  if (name !== 'find') return { ok: 1 };
  const done = await admit();
  await new Promise((resolve) => setTimeout(resolve, ms));
  done();
  const { _id = 1 } = command.filter ?? {};
  const document = { _id, name: `document ${_id}`, value: 42 };
  const ns = `${command.$db}.${command.find}`;
  return { cursor: { id: BSON.Long.ZERO, ns, firstBatch: [document] }, ok: 1 };
}

/** Reads the command of a message: the first document of OP_MSG, or the query of OP_QUERY. */
function readCommand(message) {
  const at =
    message.readInt32LE(12) === OP_QUERY
      ? message.indexOf(0, HEADER_BYTES + 4) + 1 + 8
      : HEADER_BYTES + 4 + 1;
  return BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)));
}

function buildReply(message, document) {
  const body = Buffer.from(BSON.serialize(document));
  const isQuery = message.readInt32LE(12) === OP_QUERY;
  // OP_REPLY: flags, cursor, first document, number of documents. OP_MSG: flags, kind of section 0.
  const head = Buffer.alloc(isQuery ? 20 : 5);
  if (isQuery) head.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + head.length + body.length, 0);
  header.writeInt32LE(message.readInt32LE(4), 8);
  header.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([header, head, body]);
}

const server = createServer({ noDelay: true }, (socket) => {
  let input = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    input = Buffer.concat([input, chunk]);
    while (input.length >= HEADER_BYTES && input.length >= input.readInt32LE(0)) {
      const message = input.subarray(0, input.readInt32LE(0));
      input = input.subarray(message.length);
      answer(readCommand(message)).then((reply) => socket.write(buildReply(message, reply)));
    }
  });
});
server.listen(0, '127.0.0.1', () => ready(server.address().port));
