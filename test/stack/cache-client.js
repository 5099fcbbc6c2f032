// A client in a process of its own, for servers whose event loop is blocked: `node cache-client.js PORT steady|mixed`. Prints
// `ready`, and in the end a line of JSON.
import net from 'node:net';
import { text } from 'node:stream/consumers';

const [port, what] = process.argv.slice(2);
const REQUESTS = 100;

function ask(path, fields = [], body = '') {
  const method = body ? 'POST' : 'GET';
  return `${[`${method} ${path} HTTP/1.1`, 'Host: a', ...fields].join('\r\n')}\r\n\r\n${body}`;
}

const connect = () => net.connect(Number(port), '127.0.0.1');

/** One request after the other; the milliseconds of each. */
async function steady() {
  const socket = connect();
  const times = [];
  for (let at = 0; at < REQUESTS; at++) {
    const from = performance.now();
    socket.write(ask('/'));
    await new Promise((done) => {
      let received = '';
      socket.on('data', function onData(chunk) {
        received += chunk;
        if (!received.endsWith('stored')) return;
        socket.off('data', onData);
        done();
      });
    });
    times.push(performance.now() - from);
    if (at === 0) console.log('ready');
    await new Promise((done) => setTimeout(done, 2));
  }
  socket.end();
  return times;
}

/** Pipelined requests for what is stored and what is not, on 20 connections; the bodies that came back. */
async function mixed() {
  console.log('ready');
  const all = Array.from({ length: 20 }, async (_, at) => {
    const socket = connect();
    const requests = [
      ask('/stored'),
      ask(`/own${at}`),
      ask('/stored'),
      ask(`/own-post${at}`, ['Content-Length: 4'], 'body'),
      ask('/stored', ['Connection: close']),
    ];
    socket.write(requests.join(''));
    const received = await text(socket);
    const responses = received.split('HTTP/1.1 200 OK\r\n').slice(1);
    return responses.map((one) => one.split('\r\n\r\n')[1]);
  });
  return Promise.all(all);
}

console.log(JSON.stringify(await (what === 'steady' ? steady() : mixed())));
