// A small service to try millrace on, from the root of the checkout:
//   npx millrace -- node examples/server.js
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const users = new Map([
  ['1', { id: '1', name: 'Ada' }],
  ['2', { id: '2', name: 'Grace' }],
  ['3', { id: '3', name: 'Linus' }],
  ['4', { id: '4', name: 'Margaret' }],
]);

const server = createServer(async (request, response) => {
  const { method, url } = request;
  const user = users.get(/^\/users\/(\d+)$/.exec(url)?.[1]);
  if (method === 'GET' && url === '/') return send(response, 200, { hello: 'world' });
  if (method === 'GET' && user) return send(response, 200, user);
  if (method === 'DELETE' && user) return response.writeHead(204).end();
  if (method === 'POST' && url === '/users') return createUser(request, response);
  send(response, 404, { error: 'not found' });
});

async function createUser(request, response) {
  try {
    const { name } = await json(request);
    send(response, 201, { name, session: request.headers['x-session'] });
  } catch {
    send(response, 400, { error: 'the body is not JSON' });
  }
}

function send(response, status, content) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(content));
}

server.listen(process.env.PORT ?? 8080, '127.0.0.1', () => {
  console.error(`Listening on http://127.0.0.1:${server.address().port}/`);
});
