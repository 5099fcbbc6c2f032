// Writes numbered requests on one connection without waiting, and checks that the responses arrive in order:
//
//   node flood-client.js PORT REQUESTS
//
// Prints { answered, fault, seconds } as JSON after all responses, at a fault, or on SIGTERM.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Answers } from './answers.js';

const REQUESTS_PER_WRITE = 1000;

const [port, requests] = process.argv.slice(2).map(Number);
const answers = new Answers();
const started = performance.now();
const socket = connect(port, '127.0.0.1');

function finish(fault = answers.fault) {
  const seconds = (performance.now() - started) / 1000;
  console.log(JSON.stringify({ answered: answers.count, fault, seconds }));
  process.exit();
}

process.on('SIGTERM', () => finish('not through in time'));
socket.on('error', (error) => finish(error.message));
socket.on('close', () => finish('the server closed the connection'));
socket.on('data', (bytes) => {
  answers.push(bytes);
  if (answers.fault || answers.count === requests) finish();
});

for (let number = 0; number < requests; number += REQUESTS_PER_WRITE) {
  let text = '';
  for (let i = number; i < Math.min(requests, number + REQUESTS_PER_WRITE); i++) {
    text += `GET /${i} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  }
  if (!socket.write(text)) await once(socket, 'drain');
}
