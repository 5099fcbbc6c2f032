// Requests different URLs on 16 connections, and then the last ones again:
//
//   node distinct-client.js PORT RESPONSES BYTES
//
// Prints { bytes, asked, hits } as JSON: the bytes of all bodies, the number of repeated requests, and how many of them a cache
// answered (it adds `Age`). Fails if a response has the wrong length.
import { Agent, get } from 'node:http';

const CONNECTIONS = 16;
const REPEATED = 100;

const [port, responses, length] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Requests a URL; resolves with whether a cache answered. */
function request(number) {
  return new Promise((done, failed) => {
    const request = get({ port, host: '127.0.0.1', path: `/${number}`, agent }, (response) => {
      let received = 0;
      response.on('data', (chunk) => {
        received += chunk.length;
      });
      response.on('end', () => {
        if (received !== length) failed(new Error(`${received} bytes for /${number}`));
        else done(response.headers.age !== undefined);
      });
    });
    request.on('error', failed);
  });
}

let next = 0;
async function work() {
  while (next < responses) await request(next++);
}
await Promise.all(Array.from({ length: CONNECTIONS }, work));
let hits = 0;
for (let at = responses - REPEATED; at < responses; at++) hits += Number(await request(at));
console.log(JSON.stringify({ bytes: (responses + REPEATED) * length, asked: REPEATED, hits }));
agent.destroy();
