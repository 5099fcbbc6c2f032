// Cookies of an iteration, and redirections that its steps follow on the servers of the scenarios.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { header, json, repeat, request, scenario } from 'millrace/scenario';
import { scenarioServer } from '../../../fixtures/scenario/server.js';

const run = (url, steps, { requests = 2, ...options } = /** @type {any} */ ({})) =>
  load({
    url,
    scenario: scenario('one', steps, options),
    requests,
    users: 1,
    seed: 1,
  });

describe('cookies', { timeout: 30_000 }, () => {
  test('are sent where they belong, until they expire, and are new in each iteration', async (t) => {
    const answers = {
      '/set': [
        'plain=1',
        'deep=2; Path=/deep',
        'gone=3; Max-Age=0',
        'old=4; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      ],
      '/more': [
        'plain=5; Path=/',
        'later=6; Max-Age=60',
        'safe=7; Secure',
        'other=8; Domain=example.com',
        'quoted="a b"',
      ],
      '/out': ['plain=; Max-Age=0', 'later=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
    };
    const server = await scenarioServer(t, ({ url }) => ({
      headers: { 'set-cookie': answers[url] ?? [] },
    }));
    const paths = ['/set', '/a', '/deep/b', '/deeper', '/more', '/c', '/out', '/d'];
    await run(
      server.url,
      paths.map((path) => request(path, `GET ${path}`)),
    );
    const seen = server.requests.map(({ url, headers }) => [
      url,
      (headers.cookie ?? '').split('; ').sort().join('; '),
    ]);
    const iteration = [
      ['/set', ''],
      ['/a', 'plain=1'],
      ['/deep/b', 'deep=2; plain=1'],
      ['/deeper', 'plain=1'],
      ['/more', 'plain=1'],
      // A loopback address is as secure as TLS, as it is for browsers.
      ['/c', 'later=6; plain=5; quoted="a b"; safe=7'],
      ['/out', 'later=6; plain=5; quoted="a b"; safe=7'],
      ['/d', 'quoted="a b"; safe=7'],
    ];
    assert.deepEqual(seen, [...iteration, ...iteration]);
  });

  test('are sent by a scenario of one request, whose redirections are followed', {}, async (t) => {
    const server = await scenarioServer(t, ({ url, number }) => ({
      ...{
        status: url === '/a' ? 302 : 200,
        headers: { location: '/b', 'set-cookie': `n=${number}` },
      },
    }));
    await run(server.url, [repeat(2, [request('a', 'GET /a')])], { follow: 1, requests: 1 });
    assert.deepEqual(
      server.requests.map(({ url, headers }) => [url, headers.cookie]),
      [
        ['/a', undefined],
        ['/b', 'n=0'],
        ['/a', 'n=1'],
        ['/b', 'n=2'],
      ],
    );
  });

  test('are not kept where the scenario says so, and those of the step itself stay', async (t) => {
    const server = await scenarioServer(t, () => ({ headers: { 'set-cookie': 'sid=1' } }));
    const steps = [
      request('a', 'GET /a'),
      request('b', 'GET /b', { headers: { cookie: 'own=1' } }),
    ];
    await run(server.url, steps, { cookies: false, requests: 1 });
    await run(server.url, steps, { requests: 1 });
    const seen = server.requests.map(({ headers }) => headers.cookie);
    assert.deepEqual(seen.slice(0, 3), [undefined, 'own=1', undefined]);
    assert.deepEqual(seen[3].split('; ').sort(), ['own=1', 'sid=1']);
  });

  test('belong to the server that set them', async (t) => {
    const first = await scenarioServer(t, () => ({ headers: { 'set-cookie': 'from=first' } }));
    const second = await scenarioServer(t, () => ({
      headers: { 'set-cookie': 'from=second; Domain=127.0.0.1' },
    }));
    const at = (name) => `http://localhost:${second.port}/${name}`;
    await run(
      first.url,
      [
        ...[request('a', 'GET /a'), request('b', `GET ${at('b')}`)],
        ...[request('c', 'GET /c'), request('d', `GET ${at('d')}`)],
      ],
      { requests: 1 },
    );
    assert.deepEqual(
      first.requests.map(({ headers }) => headers.cookie),
      [undefined, 'from=first'],
    );
    // A cookie for another host is not kept.
    assert.deepEqual(
      second.requests.map(({ headers }) => headers.cookie),
      [undefined, undefined],
    );
  });
});

describe('redirections', { timeout: 30_000 }, () => {
  test('are followed on the servers of the scenarios, as often as the scenario allows', async (t) => {
    const second = await scenarioServer(t, ({ url }) =>
      url === '/there'
        ? { status: 302, headers: { location: `${first.url}/end?x=1`, 'set-cookie': 'b=2' } }
        : {},
    );
    const first = await scenarioServer(t, ({ url, method }) => {
      if (url === '/login')
        return { status: 303, headers: { location: `${second.url}/there`, 'set-cookie': 'a=1' } };
      if (url === '/307') return { status: 307, headers: { location: 'relative' } };
      if (url.startsWith('/round'))
        return { status: 301, headers: { location: `/round/${url.length}` } };
      return { body: { url, method } };
    });
    const result = await run(
      first.url,
      [
        request('login', 'POST /login', { json: { secret: 1 }, save: { end: json('/url') } }),
        request('use', 'GET /use?end={{end}}'),
        request('keep', 'PUT /307', { body: 'content', expect: { json: { '/method': 'PUT' } } }),
        request('known', `GET ${second.url}/known`),
        request('round', 'GET /round', { expect: { status: 301 } }),
      ],
      { follow: 3, requests: 1 },
    );
    assert.deepEqual(
      result.steps.flatMap(({ failures }) => failures),
      [],
    );
    const ofFirst = first.requests.map(({ method, url, body, headers }) => [
      method,
      url,
      body,
      headers.host,
    ]);
    const host = new URL(first.url).host;
    assert.deepEqual(ofFirst, [
      ['POST', '/login', '{"secret":1}', host],
      ['GET', '/end?x=1', '', host],
      ['GET', '/use?end=%2Fend%3Fx%3D1', '', host],
      ['PUT', '/307', 'content', host],
      ['PUT', '/relative', 'content', host],
      ['GET', '/round', '', host],
      ['GET', '/round/6', '', host],
      ['GET', '/round/8', '', host],
      ['GET', '/round/8', '', host],
    ]);
    const [there] = second.requests;
    assert.deepEqual([there.method, there.url, there.body], ['GET', '/there', '']);
    assert.equal(there.headers.host, new URL(second.url).host);
    assert.equal(there.headers['content-type'], undefined);
    // Each one is a request with the name of its step.
    const sent = Object.fromEntries(
      result.byName.map(({ name, requests }) => [name, requests.sent]),
    );
    assert.deepEqual(sent, { login: 3, use: 1, keep: 2, known: 1, round: 4 });
    assert.equal(result.iterations.completed, 1);
  });

  test('to a server that no scenario names are the response', async (t) => {
    const other = await scenarioServer(t);
    const server = await scenarioServer(t, () => ({
      status: 302,
      headers: { location: `${other.url}/x` },
    }));
    const result = await run(
      server.url,
      [
        request('go', 'GET /go', {
          save: { to: header('location') },
          expect: { headers: { location: `${other.url}/x` } },
        }),
      ],
      { follow: 5 },
    );
    assert.equal(result.iterations.completed, 2);
    assert.equal(other.requests.length, 0);
  });

  test('are not followed by default', async (t) => {
    const server = await scenarioServer(t, () => ({ status: 302, headers: { location: '/x' } }));
    const result = await run(server.url, [request('go', 'GET /go', { expect: { status: 302 } })]);
    assert.deepEqual([result.iterations.completed, server.requests.length], [2, 2]);
  });
});
