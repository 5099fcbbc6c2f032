// A small shop to try scenarios on, from the root of the checkout:
//   npx millrace run examples/scenarios/checkout.mjs -- node examples/scenarios/shop.js
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const ITEMS = [7, 8, 9].map((id) => ({ id, name: `item ${id}`, price: id + 0.5 }));
const SIGNING_KEY = process.env.SIGNING_KEY ?? 'secret';
const tokens = new Set();
const orders = new Map();

const ROUTES = {
  'GET /': ({ send }) => send(200, { hello: 'world' }),
  'POST /login': logIn,
  'POST /logout': ({ token, send }) => send(tokens.delete(token) ? 204 : 401, {}),
  // The login of a page: a form, a cookie and a redirection.
  'POST /session': openSession,
  'GET /account': showAccount,
  'GET /items': ({ token, send }) =>
    tokens.has(token) ? send(200, { items: ITEMS, total: ITEMS.length }) : send(401, {}),
  'POST /orders': createOrder,
  'GET /orders': ({ url, send }) => {
    const order = orders.get(url.searchParams.get('id'));
    return order ? send(200, order) : send(404, {});
  },
};

const server = createServer(async (request, response) => {
  const { method, headers } = request;
  const url = new URL(request.url, 'http://localhost');
  const [, token] = /^Bearer (.*)$/.exec(headers.authorization ?? '') ?? [];
  const send = (status, content, fields = {}) => {
    const isText = typeof content === 'string';
    response.writeHead(status, {
      'Content-Type': isText ? 'text/html' : 'application/json',
      ...fields,
    });
    response.end(isText ? content : JSON.stringify(content));
  };
  const route = ROUTES[`${method} ${url.pathname}`];
  if (!route) return send(404, { error: 'not found' });
  try {
    await route({ body: await text(request), headers, send, token, url });
  } catch {
    send(400, { error: 'the body is not valid' });
  }
});

function logIn({ body, send }) {
  const { user, password } = JSON.parse(body);
  if (!user || password !== `${user}'s password`) return send(401, { error: 'wrong password' });
  const token = randomUUID();
  tokens.add(token);
  send(200, { token, user: { name: user, visits: 3 } });
}

function openSession({ body, send }) {
  const user = new URLSearchParams(body).get('user');
  const cookie = `sid=${encodeURIComponent(user)}; Path=/; HttpOnly`;
  send(user ? 303 : 401, {}, { 'Set-Cookie': cookie, Location: '/account' });
}

function showAccount({ headers, send }) {
  const [, user] = /\bsid=([^;]*)/.exec(headers.cookie ?? '') ?? [];
  if (!user) return send(401, 'please log in');
  send(
    200,
    `<h1>Hello ${decodeURIComponent(user)}</h1><input name="csrf" value="${randomUUID()}">`,
  );
}

function createOrder({ body, headers, send, token }) {
  if (!tokens.has(token)) return send(401, { error: 'log in first' });
  const signature = headers['x-signature'];
  if (signature !== undefined && signature !== sign(token))
    return send(403, { error: 'wrong signature' });
  const { item, quantity = 1 } = JSON.parse(body);
  const found = ITEMS.find(({ id }) => id === item);
  if (!found) return send(400, { error: 'no such item' });
  const order = { id: randomUUID(), item, quantity, price: found.price * quantity, state: 'paid' };
  orders.set(order.id, order);
  send(201, order);
}

function sign(token) {
  return createHmac('sha256', SIGNING_KEY).update(token).digest('hex');
}

server.listen(process.env.PORT ?? 8081, '127.0.0.1', () => {
  console.error(`Listening on http://127.0.0.1:${server.address().port}/`);
});
