// A name server on 127.0.0.9 that answers each question for an IPv4 address with 127.0.0.1, after `process.argv[2]` ms.
import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';

const LOOPBACK = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
const TYPE_A = 1;

const socket = createSocket('udp4');
socket.on('message', async (message, { port, address }) => {
  await delay(Number(process.argv[2]));
  let end = 12;
  while (message[end]) end += message[end] + 1;
  const isAddress = message.readUInt16BE(end + 1) === TYPE_A;
  const head = Buffer.from(message.subarray(0, 12));
  // A response without error, with one question and at most one answer.
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isAddress ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const question = message.subarray(12, end + 5);
  socket.send(Buffer.concat([head, question, ...(isAddress ? [LOOPBACK] : [])]), port, address);
});
socket.bind(53, '127.0.0.9');
