// The headers of requests have one type, for loads and for the client: what is given in any form is what arrives.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { compare, load } from 'millrace';
import { createClient } from 'millrace/client';

const limits = { timeout: 30_000 };
const pairs = [
  ['x-one', '1'],
  ['x-two', 'a'],
  ['x-two', 'b'],
];
const FORMS = {
  'a list of pairs': pairs,
  'an object': { 'x-one': '1', 'x-two': ['a', 'b'], 'x-none': undefined },
  'a Headers': new Headers(pairs),
  'a Map': new Map([
    ['x-one', '1'],
    ['x-two', 'a, b'],
  ]),
};

const received = [];
const server = createServer(({ headers }, response) => {
  const { 'x-one': one, 'x-two': two, 'x-none': none } = headers;
  received.push([one, two, none]);
  response.end('ok');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const url = `http://127.0.0.1:${server.address().port}/`;

/** Checks all requests since the last call. */
function checkReceived() {
  const all = received.splice(0);
  assert.ok(all.length > 0);
  for (const one of all) assert.deepEqual(one, ['1', 'a, b', undefined]);
}

for (const [form, headers] of Object.entries(FORMS)) {
  test(`${form} is sent by a load, and by the client`, limits, async () => {
    await load({ url, headers, requests: 3 });
    checkReceived();
    const client = createClient();
    await (await client.request(url, { headers })).text();
    await client.close();
    checkReceived();
  });
}

test('each run of a comparison sends them', limits, async () => {
  const headers = new Headers(pairs);
  await compare({ a: { url }, b: { url }, headers, requests: 1, warmup: 0, budget: '1s' });
  checkReceived();
});

test('an iterator is for one request of the client, and refused by a load', limits, async () => {
  const once = () => new Headers(pairs).entries();
  const client = createClient();
  await (await client.request(url, { headers: once() })).text();
  await client.close();
  checkReceived();
  await assert.rejects(load({ url, headers: once() }), {
    code: 'ERR_MILLRACE_USAGE',
    message: /^headers must be .* can be read again: \[\.\.\.iterator\]/,
  });
  assert.deepEqual(received, []);
});
