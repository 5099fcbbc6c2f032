// Notes each request in a list and looks there first whether it has seen it.
import { createServer } from 'node:http';

const bounded = process.env.REMEDY === '1';
const history = [];
let requests = 0;

const server = createServer((_request, response) => {
  const id = `request ${++requests}`;
  const seen = history.some((known) => known.id === id);
  history.push({ id });
  if (bounded && history.length > 100) history.shift();
  response.end(`${seen}\n`);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
