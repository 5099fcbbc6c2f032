// A trivial application that says how much CPU time it has used until it listens.
import { createServer } from 'node:http';

const server = createServer((_request, response) => response.end('hello world\n'));
server.listen(0, '127.0.0.1', () => {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ cpuMs: (user + system) / 1000 }));
});
