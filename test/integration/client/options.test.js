// Options of the client: undefined counts as not set, and an invalid value is one line that names the option.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from 'millrace/client';
import { web } from '../../fixtures/deadlines/peers.js';

const limits = { timeout: 30_000 };
const origin = 'http://127.0.0.1:1';
const url = ({ port }) => `http://127.0.0.1:${port}/`;

const number = 'a number, 0 or more';
const times = [
  ...[null, {}].map((value) => [value, "milliseconds, or text with a unit such as '10s'"]),
  ...[Number.NaN, -1, Infinity, 'soon', '', `${'9'.repeat(20)}h`].map((value) => [
    value,
    / must be a duration such as 500ms, 10s, 1m30s or 2h \(got .+\)$/,
  ]),
  ...['3', '0', '1.5'].map((value) => [
    value,
    new RegExp(` needs a unit, as in '${value}s' or '${value}ms' \\(got '${value}'; [^\\n]+\\)$`),
  ]),
];
const numbers = [null, '1', Number.NaN, -1].map((value) => [value, number]);
const counts = [
  [null, "a number, or text such as '10k'"],
  ...[0, -1, 1.5, Number.NaN, 'many'].map((value) => [value, / must be a whole number from 1 /]),
];
const objects = [null, 1, 'text', [], true].map((value) => [value, 'an object']);

const pems = (name) =>
  [null, 1, {}, [], './file.pem', Buffer.from('no PEM'), ['-----BEGIN', {}]].map((value) => [
    value,
    new RegExp(
      `^${name} must be PEM text or a Buffer, or a list of them; the option for a path is ${name}File$`,
    ),
  ]);
const paths = [null, 1, {}].map((value) => [value, 'the path of a file']);

/** Invalid values by option, and what their messages say. */
const ofClient = {
  origin: [
    [null, 'a URL'],
    [1, 'a URL'],
    ['a.test', /^origin must be a URL with http:\/\/ or https:\/\/ \(got 'a\.test'\)$/],
    ['ftp://a.test', /^origin must be a URL with http:\/\/ or https:\/\/ \(got 'ftp:.*'\)$/],
    ...['http://a.test/v1', 'http://a.test/?q'].map((value) => [
      value,
      /^origin must be a URL without a path, such as http:\/\/a\.test \(got 'http:.*'\)$/,
    ]),
    [
      'http://me:secret@a.test',
      /^origin must have no user and password; use the header Authorization \(got a URL of a.test with them\)$/,
    ],
  ],
  timeouts: objects,
  'timeouts.connect': times,
  'timeouts.headers': times,
  'timeouts.idle': times,
  'timeouts.total': times,
  ca: pems('ca'),
  cert: pems('cert'),
  key: pems('key'),
  caFile: paths,
  certFile: paths,
  keyFile: paths,
  connections: counts,
  pipelining: counts,
  retries: [null, true, 3, []].map((value) => [value, 'an object, or false']),
  'retries.budgetRatio': numbers,
  'retries.minPerSecond': numbers,
  'retries.maxRetries': numbers,
  'retries.baseDelay': times,
};
const bodies =
  'text, bytes, URLSearchParams, FormData, a Blob or a stream; JSON.stringify makes text of other values';
const ofCall = {
  method: [null, 1, '', 'GET /'].map((value) => [value, 'a method, such as GET']),
  headers: [null, 'a: b', ['a', 'b']].map((value) => [
    value,
    'an object, a Headers, or pairs of name and value',
  ]),
  body: [1, true, {}, ['a'], new Map(), () => {}, new Error('a\nb')].map((value) => [
    value,
    bodies,
  ]),
  signal: [{}, new AbortController(), 5000].map((value) => [value, 'an AbortSignal']),
  timeouts: objects,
  'timeouts.headers': times,
  'timeouts.idle': times,
  'timeouts.total': times,
};

/** `{ a: { b: value } }` of `a.b`. */
function nested(name, value) {
  const [first, second] = name.split('.');
  return { [first]: second === undefined ? value : { [second]: value } };
}

function assertRefused(error, name, accepted, what) {
  assert.equal(error?.code, 'ERR_MILLRACE_USAGE', `${what}: ${error}`);
  const { message } = error;
  assert.doesNotMatch(message, /\n|secret/, what);
  assert.match(message, new RegExp(`^${name}(?: must | needs )`), what);
  if (accepted instanceof RegExp) assert.match(message, accepted, what);
  else assert.ok(message.includes(` must be ${accepted} (got `), `${what}: ${message}`);
}

describe("the client's options", () => {
  for (const [name, refused] of Object.entries(ofClient)) {
    test(`the option ${name} is optional, and invalid values are refused`, () => {
      createClient(nested(name, undefined));
      for (const [value, accepted] of refused) {
        let error;
        try {
          createClient(nested(name, value));
        } catch (thrown) {
          error = thrown;
        }
        assertRefused(error, name, accepted, `${name}: ${String(value)}`);
      }
    });
  }

  for (const [name, refused] of Object.entries(ofCall)) {
    test(
      `the option ${name} of a call is optional, and invalid values are refused`,
      limits,
      async (t) => {
        const peer = await web(t, (_request, response) => response.end('here'));
        const client = createClient({ origin: url(peer) });
        t.after(() => client.destroy());
        const { status, tries } = await client.request('/', nested(name, undefined));
        assert.deepEqual([status, tries], [200, 1]);
        for (const [value, accepted] of refused) {
          const error = await client.request('/', nested(name, value)).catch((reason) => reason);
          assertRefused(error, name, accepted, `${name}: ${String(value)}`);
        }
        assert.equal(client.stats().calls, 1);
      },
    );
  }

  test('options must be objects, and the target a path or a URL', async () => {
    for (const options of [null, 'http://a.test', 1, []]) {
      assert.throws(
        () => createClient(options),
        ({ message }) => /^options must be an object \(got .+\)$/.test(message),
      );
    }
    const client = createClient({ origin });
    await assert.rejects(client.request('/', null), {
      message: 'options must be an object (got null)',
    });
    for (const target of [undefined, null, 1, {}, Symbol('a')]) {
      const error = await client.request(target).catch((reason) => reason);
      assertRefused(error, 'url', 'a path or a URL', String(target));
    }
    for (const one of [client, createClient()]) {
      const error = await one.request('http://me:secret@127.0.0.1:1/').catch((reason) => reason);
      assertRefused(
        error,
        'url',
        /use the header Authorization \(got a URL of .* with them\)$/,
        'credentials',
      );
    }
  });

  test('an undefined limit of a call is that of the client', limits, async (t) => {
    const peer = await web(t, (_request, response) => {
      setTimeout(() => response.end('late'), 400);
    });
    const client = createClient({ origin: url(peer), timeouts: { total: 150 }, retries: false });
    t.after(() => client.destroy());
    for (const ofCall of [
      {},
      { total: undefined },
      { total: undefined, headers: undefined, idle: undefined },
    ]) {
      await assert.rejects(client.request('/', { timeouts: ofCall }), { limit: 'total' });
    }
    const response = await client.request('/', { timeouts: { idle: undefined, total: '20s' } });
    assert.equal(await response.text(), 'late');
  });

  test(
    'retries.minPerSecond allows that many retries in the same second, also more than ten',
    limits,
    async (t) => {
      const peer = await web(t, (_request, response) => response.writeHead(503).end());
      for (const [minPerSecond, retried] of [
        [0, 0],
        [3, 3],
        [40, 40],
        [Number.POSITIVE_INFINITY, 50],
      ]) {
        const client = createClient({
          origin: url(peer),
          timeouts: { total: '20s' },
          // A busy machine may need several seconds, each of which allows more.
          retries: { budgetRatio: 0, minPerSecond, maxRetries: 1, baseDelay: 0 },
        });
        t.after(() => client.destroy());
        const since = performance.now();
        await Promise.all(
          Array.from({ length: 50 }, async () => (await client.request('/')).dump()),
        );
        const earned = (minPerSecond * (performance.now() - since)) / 1000;
        const { retries } = client.stats();
        assert.ok(retries >= retried && retries <= retried + earned, `${minPerSecond}: ${retries}`);
      }
    },
  );
});
