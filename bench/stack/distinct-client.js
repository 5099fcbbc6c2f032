// Asks for URLs that are all different, on 16 connections, and then for the last ones again:
//
//   node distinct-client.js PORT RESPONSES BYTES
//
// Prints { bytes, asked, hits } as JSON: bytes of all bodies, how many were asked for again, and how many of these came out of
// a cache, which adds `Age`. Fails if a response is not as long as it should be.
import { Agent, get } from 'node:http';

const CONNECTIONS = 16;
const AGAIN = 100;

const [port, responses, length] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Whether the response is a cache's. */
function ask(number) {
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
  while (next < responses) await ask(next++);
}
await Promise.all(Array.from({ length: CONNECTIONS }, work));
let hits = 0;
for (let at = responses - AGAIN; at < responses; at++) hits += Number(await ask(at));
console.log(JSON.stringify({ bytes: (responses + AGAIN) * length, asked: AGAIN, hits }));
agent.destroy();
