// Answers at once, but does nothing else for 1.5 seconds, 3 seconds after its first request, as a long
// synchronous computation or a garbage collection would do.
import { createServer } from 'node:http';

const freezeMs = Number(process.env.FREEZE_MS ?? 1500);
const server = createServer((_request, response) => response.end('ok'));

server.once('request', () => setTimeout(freeze, Number(process.env.AFTER_MS ?? 3000)));

function freeze() {
  const end = performance.now() + freezeMs;
  while (performance.now() < end);
}

server.listen(process.env.PORT ?? 8080, '127.0.0.1');
