// Builds 2000 objects for a request and keeps them until 30 requests later: what is young is copied once, then dies.
import { createServer } from 'node:http';

const recent = [];

const server = createServer((_request, response) => {
  const rows = Array.from({ length: 2000 }, (_, id) => ({ id, at: { x: id, y: -id }, tags: [id] }));
  recent.push(rows);
  if (recent.length > 30) recent.shift();
  response.end(`${rows.length}\n`);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
