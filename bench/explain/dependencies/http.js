// An HTTP service that only waits: `ms` for an answer, `slowMs` for the share `slow` of them, and at most `permits`
// answers at a time, the others in line.
import { createServer } from 'node:http';
import { permits } from '../permits.js';
import { ready } from './ready.js';

const { ms, slow = 0, slowMs = 0, permits: count = Infinity } = JSON.parse(process.argv[2]);
const admit = permits(count);
let asked = 0;

const server = createServer(async (_request, response) => {
  asked++;
  // Every n-th, and not one by chance, so that short runs have the same share.
  const late = Math.floor(asked * slow) > Math.floor((asked - 1) * slow);
  const done = await admit();
  setTimeout(
    () => {
      done();
      response.end('{"value":42}');
    },
    late ? slowMs : ms,
  );
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => ready(server.address().port));
