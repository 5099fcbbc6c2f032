// Clients of Socket.IO that talk by polling, each with one message under way:
//
//   node polling-client.js URL CLIENTS requests|seconds AMOUNT
//
// A message is a POST, and its acknowledgement comes with a GET that waits meanwhile (Engine.IO protocol, version 4).
// Prints { requests, errors, seconds } as JSON.
import { Agent, request as ask } from 'node:http';

/** Separates the packets of a payload. */
const SEPARATOR = '\x1e';
const MESSAGE = '420["say","hello"]';
const ACKNOWLEDGEMENT = '430["hello"]';

const [url, clients, unit, amount] = process.argv.slice(2);
const endpoint = new URL('/socket.io/?EIO=4&transport=polling', url);
const agent = new Agent({ keepAlive: true });
const counts = { requests: 0, errors: 0 };

/** Makes a request; resolves with the packets of the answer. */
function exchange(path, body) {
  const method = body === undefined ? 'GET' : 'POST';
  const { hostname: host, port } = endpoint;
  return new Promise((done, failed) => {
    const request = ask({ host, port, path, method, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        counts.requests++;
        if (response.statusCode === 200) done(text.split(SEPARATOR));
        else failed(new Error(`${response.statusCode} ${text}`));
      });
    });
    request.on('error', failed);
    if (body === undefined) request.end();
    else request.setHeader('Content-Type', 'text/plain;charset=UTF-8').end(body);
  });
}

async function connect() {
  const first = `${endpoint.pathname}${endpoint.search}`;
  const [opened] = await exchange(first);
  const path = `${first}&sid=${JSON.parse(opened.slice(1)).sid}`;
  await exchange(path, '40');
  await exchange(path);
  return path;
}

/** Sends a message and waits for its acknowledgement; answers pings that come before it. */
async function say(path) {
  let [packets] = await Promise.all([exchange(path), exchange(path, MESSAGE)]);
  while (!packets.includes(ACKNOWLEDGEMENT)) {
    if (!packets.includes('2')) throw new Error(`unexpected: ${packets}`);
    [packets] = await Promise.all([exchange(path), exchange(path, '3')]);
  }
}

const begin = performance.now();
const seconds = () => (performance.now() - begin) / 1000;
const goesOn = {
  requests: () => counts.requests < Number(amount),
  seconds: () => seconds() < Number(amount),
}[unit];

async function work() {
  try {
    const path = await connect();
    while (goesOn()) await say(path);
  } catch (error) {
    counts.errors++;
    console.error(error.message);
  }
}

await Promise.all(Array.from({ length: Number(clients) }, work));
console.log(JSON.stringify({ ...counts, seconds: seconds() }));
agent.destroy();
