// A cache that nearly fills the heap that it is given, so that there is little room for the tables of the requests.
import { createServer } from 'node:http';

const cache = new Map();
for (let id = 0; id < 300_000; id++)
  cache.set(id, { id, name: `entry ${id}`, links: [id, id + 1] });
const recent = [];

const server = createServer((_request, response) => {
  recent.push(new Array(50_000).fill(0.5));
  if (recent.length > 20) recent.shift();
  response.end(`${cache.size}\n`);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
