// The prototypes of requests and responses, for applications that set prototypes of their own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import nodeHttp from 'node:http';
import { after, test } from 'node:test';
import http from '#internal/http/index.js';

/** A listener as Express makes it: a function with the prototypes of what it is given. */
function application(answer) {
  const app = (request, response) => {
    app.seen.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
    Object.setPrototypeOf(request, app.request);
    Object.setPrototypeOf(response, app.response);
    answer(request, response);
  };
  app.seen = [];
  app.request = Object.create(nodeHttp.IncomingMessage.prototype, {
    path: { get: () => 'own' },
  });
  app.response = Object.create(nodeHttp.ServerResponse.prototype, {
    send: {
      value(text) {
        this.end(text);
      },
    },
  });
  return app;
}

async function listening(...args) {
  const server = http.createServer(...args);
  after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const get = async () => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/`);
    return response.text();
  };
  return { server, get };
}

const NODE = [nodeHttp.IncomingMessage.prototype, nodeHttp.ServerResponse.prototype];
const madeFor = (app) => [app.request, app.response];
const echo = (request, response) => response.send(request.path);

test('an application of Express gets objects with its own prototypes', async () => {
  const app = application(echo);
  const { get } = await listening(app);
  assert.equal(await get(), 'own');
  assert.deepEqual(app.seen, [madeFor(app)]);
  assert.equal(Object.hasOwn(app.request, 'constructor'), false);
});

test('requests and responses are an http.IncomingMessage and an http.ServerResponse', async () => {
  let made;
  const app = application((request, response) => {
    made = [request, response];
    response.send('made');
  });
  const { server, get } = await listening(app);
  await get();
  const [request, response] = made;
  assert.ok(request instanceof nodeHttp.IncomingMessage);
  assert.ok(response instanceof nodeHttp.ServerResponse);
  assert.equal(request.constructor, nodeHttp.IncomingMessage);
  assert.equal(response.constructor, nodeHttp.ServerResponse);
  assert.equal(server.stats().requests.native, 1);
});

test('with other listeners objects have Node’s prototypes, and alone again those of the application', async () => {
  const app = application(echo);
  const seen = [];
  const other = (request, response) => {
    seen.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
  };
  const { server, get } = await listening(app);
  server.prependListener('request', other);
  assert.equal(await get(), 'own');
  assert.deepEqual(seen, [NODE]);
  server.off('request', other);
  await get();
  assert.deepEqual(app.seen, [NODE, madeFor(app)]);
});

test('a listener around the application gets Node’s own objects', async () => {
  const app = application(echo);
  const { get } = await listening((request, response) => app(request, response));
  assert.equal(await get(), 'own');
  assert.deepEqual(app.seen, [NODE]);
});

test('a class in the options remains unchanged', async () => {
  class Request extends nodeHttp.IncomingMessage {}
  const app = application(echo);
  const { get } = await listening({ IncomingMessage: Request }, app);
  assert.equal(await get(), 'own');
  assert.deepEqual(app.seen, [[Request.prototype, madeFor(app)[1]]]);
});

test('properties of a listener that are not messages have no effect', async () => {
  for (const value of [null, 1, {}, nodeHttp.IncomingMessage, nodeHttp.IncomingMessage.prototype]) {
    const seen = [];
    const listener = (request, response) => {
      seen.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
      response.end();
    };
    listener.request = value;
    listener.response = value;
    const { get } = await listening(listener);
    await get();
    assert.deepEqual(seen, [NODE]);
  }
});
