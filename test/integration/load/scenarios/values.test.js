// Values of responses in later requests: with their types and escaped for the place where they are used, each iteration with
// its own, and counted where they are not found.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import {
  body,
  cookie,
  header,
  json,
  regex,
  repeat,
  request,
  scenario,
  status,
  when,
} from 'millrace/scenario';
import { dryRun } from '#internal/load/engine/dry-run.js';
import { scenarioServer } from '../../../fixtures/scenario/server.js';

/** Values that each place must escape in its own way. */
const VALUES = {
  text: 'a b&c=d/e?f#g%h+i"j\\k',
  unicode: 'é😀',
  number: 12.5,
  large: 12345678901234567890n,
  yes: true,
  nothing: null,
  list: [1, 'two', { three: 3 }],
  object: { a: { b: 'c' } },
};
const AS_JSON = `{${Object.entries(VALUES).map(([name, value]) => `"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`)}}`;

/** Runs one iteration of the steps. */
const once = (url, steps, options = {}) =>
  dryRun({ url, scenario: scenario('one', steps, options.scenario), seed: 1, ...options.load });

const failuresOf = ({ result }) =>
  result.steps.flatMap(({ failures }) =>
    failures.map(({ reason, example }) => `${reason}: ${example}`),
  );

describe('values of responses', { timeout: 30_000 }, () => {
  test('arrive with their types, escaped for the place where they are used', async (t) => {
    const server = await scenarioServer(t, ({ url }) => (url === '/all' ? { body: AS_JSON } : {}));
    const names = Object.keys(VALUES);
    const all = Object.fromEntries(names.map((name) => [name, `{{${name}}}`]));
    const done = await once(server.url, [
      request('all', 'GET /all', {
        save: Object.fromEntries(names.map((name) => [name, json(`/${name}`)])),
      }),
      request('json', 'POST /json', {
        json: { ...all, inside: 'is {{text}} and {{number}}', deep: [['{{yes}}']] },
      }),
      request('url', 'GET /url/{{text}}/{{unicode}}?n={{number}}&t={{text}}&o={{object}}'),
      request('raw', 'GET /{{raw:text}}'),
      request('header', 'GET /header', {
        headers: { 'x-text': 'is {{text}}', 'x-number': '{{number}}', 'x-list': '{{list}}' },
      }),
      request('form', 'POST /form', {
        form: { 'a b': 'x & {{text}}', unicode: '{{unicode}}', number: '{{number}}', fixed: true },
      }),
      request('multipart', 'POST /multipart', {
        multipart: {
          field: '{{text}}',
          file: { content: '{{object}}', filename: 'a"b.json', type: 'application/json' },
        },
      }),
      request('text', 'POST /text', { body: '{{text}}|{{number}}|{{nothing}}|{{list}}' }),
    ]);
    assert.deepEqual(failuresOf(done), []);
    const [, asJson, inUrl, raw, inHeader, form, multipart, asText] = server.requests;
    assert.equal(
      asJson.body,
      `${AS_JSON.slice(0, -1)},"inside":${JSON.stringify(`is ${VALUES.text} and 12.5`)},"deep":[[true]]}`,
    );
    assert.equal(asJson.headers['content-type'], 'application/json');
    const url = new URL(inUrl.url, server.url);
    assert.deepEqual(url.pathname.split('/').slice(2).map(decodeURIComponent), [
      VALUES.text,
      VALUES.unicode,
    ]);
    assert.equal(url.searchParams.get('n'), '12.5');
    assert.equal(url.searchParams.get('t'), VALUES.text);
    assert.equal(url.searchParams.get('o'), JSON.stringify(VALUES.object));
    assert.ok(raw.url.startsWith('/a') && raw.url.includes('&c=d/e?f'), raw.url);
    assert.equal(inHeader.headers['x-text'], `is ${VALUES.text}`);
    assert.equal(inHeader.headers['x-number'], '12.5');
    assert.equal(inHeader.headers['x-list'], JSON.stringify(VALUES.list));
    assert.deepEqual(Object.fromEntries(new URLSearchParams(form.body)), {
      ...{ 'a b': `x & ${VALUES.text}`, unicode: VALUES.unicode, number: '12.5', fixed: 'true' },
    });
    assert.equal(form.headers['content-type'], 'application/x-www-form-urlencoded');
    const fields = await new Response(multipart.body, { headers: multipart.headers }).formData();
    assert.equal(fields.get('field'), VALUES.text);
    const file = /** @type {File} */ (fields.get('file'));
    assert.equal(await file.text(), JSON.stringify(VALUES.object));
    assert.equal(file.name, 'a"b.json');
    assert.equal(file.type, 'application/json');
    assert.equal(asText.body, `${VALUES.text}|12.5|null|${JSON.stringify(VALUES.list)}`);
  });

  test('come from each place of a response', async (t) => {
    const server = await scenarioServer(t, () => ({
      status: 201,
      headers: { 'x-id': '7', 'set-cookie': ['a=1', 'sid="s 1"; Path=/'] },
      body: '{"a/b":{"~":[{"id":"é"}]},"":0}<a href="/next?id=42">',
    }));
    const save = {
      ...{ header: header('X-Id'), cookie: cookie('sid'), whole: body(), code: status() },
      ...{
        group: regex(/id=(\d+)/),
        all: regex(/id=\d+/),
        second: regex(/(h)r(e)f/, { group: 2 }),
      },
      ...{ named: regex(/(?<x>h)ref="(?<to>[^"]+)/, { group: 'to' }) },
      ...{ none: header('x-none', { optional: true }), pointer: json('/none', { optional: true }) },
    };
    const done = await once(server.url, [
      request('any', 'GET /', { save }),
      request('other', 'GET /'),
    ]);
    assert.deepEqual(failuresOf(done), []);
    const saved = Object.fromEntries(
      done.steps[0].saved.map(({ variable, json }) => [
        variable,
        json === null ? null : JSON.parse(json),
      ]),
    );
    assert.deepEqual(saved, {
      ...{ header: '7', cookie: 's 1', code: 201, none: null, pointer: null },
      ...{ whole: '{"a/b":{"~":[{"id":"é"}]},"":0}<a href="/next?id=42">' },
      ...{ group: '42', all: 'id=42', second: 'e', named: '/next?id=42' },
    });
  });

  test('that JSON pointers find, whatever the names', async (t) => {
    const content = { 'a/b': { '~': [{ id: 'é' }] }, '': 0, 'm~n': 'x', '01': 1, ü: [[2]] };
    const server = await scenarioServer(t, () => ({ body: content }));
    const pointers = {
      deep: '/a~1b/~0/0/id',
      empty: '/',
      tilde: '/m~0n',
      digits: '/01',
      list: '/ü/0/0',
      whole: '',
    };
    const done = await once(server.url, [
      request('any', 'GET /', {
        save: Object.fromEntries(Object.entries(pointers).map(([name, it]) => [name, json(it)])),
      }),
      request('other', 'GET /'),
    ]);
    assert.deepEqual(failuresOf(done), []);
    assert.deepEqual(
      done.steps[0].saved.map(({ json }) => JSON.parse(json)),
      ['é', 0, 'x', 1, 2, content],
    );
  });

  test('that are not found fail the step, with the beginning of the response', async (t) => {
    const bodies = {
      ...{ '/pointer': { error: 'no token' }, '/text': 'Bad Gateway', '/empty': '' },
      ...{ '/large': `"${'x'.repeat(2000)}"`, '/index': { items: [] }, '/cut': '{"item": "a' },
    };
    const server = await scenarioServer(t, ({ url }) => ({
      body: bodies[url],
      headers: { 'set-cookie': 'other=1' },
    }));
    const sources = {
      ...{
        pointer: json('/token'),
        text: json('/token'),
        empty: json('/token'),
        large: json(''),
        cut: json('/token'),
      },
      ...{
        index: json('/items/0'),
        header: header('x-id'),
        cookie: cookie('sid'),
        regex: regex(/id=(\d+)/),
      },
    };
    const steps = Object.entries(sources).map(([name, source]) =>
      request(name, `GET /${name in { header: 1, cookie: 1, regex: 1 } ? 'pointer' : name}`, {
        save: { v: source },
        onError: 'continue',
      }),
    );
    const result = await load({
      ...{
        url: server.url,
        scenario: scenario('one', steps),
        requests: 5,
        users: 1,
        maxBody: '1kb',
      },
    });
    const seen = Object.fromEntries(
      result.steps.map(({ name, failures, saves }) => {
        assert.deepEqual([saves[0].found, saves[0].missing], [0, 5], name);
        assert.deepEqual([failures.length, failures[0].count], [1, 5], name);
        return [name, `${failures[0].reason}: ${failures[0].example}`];
      }),
    );
    assert.deepEqual(seen, {
      pointer: `save: v: nothing at '/token' in: {"error":"no token"}`,
      text: 'save: v: no JSON in: Bad Gateway',
      empty: 'save: v: no JSON',
      large: 'save: v: the body is longer than 1000 bytes (--max-body allows more)',
      index: `save: v: nothing at '/items/0' in: {"items":[]}`,
      cut: 'save: v: no JSON in: {"item": "a',
      header: 'save: v: no header x-id',
      cookie: 'save: v: no cookie sid was set',
      regex: 'save: v: nothing matches id=([0-9]+) in: {"error":"no token"}',
    });
    assert.equal(result.iterations.failed, 5);
    assert.equal(server.requests.length, 5 * steps.length);
  });

  test('that a header field cannot hold fail the step before anything is sent', async (t) => {
    const server = await scenarioServer(t, ({ url }) =>
      url === '/a' ? { body: { v: 'a\r\nx-evil: 1' } } : {},
    );
    const done = await once(server.url, [
      request('a', 'GET /a', { save: { v: json('/v') } }),
      request('b', 'GET /b', { headers: { 'x-v': '{{v}}' } }),
    ]);
    assert.equal(failuresOf(done).length, 1);
    assert.match(failuresOf(done)[0], /^header: .*line break/);
    assert.equal(server.requests.length, 1);
  });

  test('of an optional save that found nothing fail the step that needs it', async (t) => {
    const server = await scenarioServer(t, () => ({ body: '{}' }));
    const done = await once(server.url, [
      request('a', 'GET /a', { save: { v: json('/v', { optional: true }) } }),
      when('{{v}}', '=', '', [request('b', 'GET /b')]),
      when('{{v}}', '!=', '', [request('never', 'GET /never')]),
      request('c', 'GET /c/{{v}}'),
      request('after', 'GET /after'),
    ]);
    assert.match(failuresOf(done).join(), /^variable: the variable v has no value$/);
    assert.deepEqual(
      server.requests.map(({ url }) => url),
      ['/a', '/b'],
    );
  });

  test('are those of the own iteration, for many users at once', async (t) => {
    const server = await scenarioServer(t, ({ url, number }) =>
      url === '/new'
        ? { body: { id: `id-${number}` }, headers: { 'set-cookie': `sid=${number}` } }
        : {},
    );
    const steps = [
      request('new', 'GET /new', { save: { id: json('/id') } }),
      repeat(2, [request('use', 'GET /use/{{id}}/{{seq}}')]),
    ];
    const result = await load({
      ...{ url: server.url, scenario: scenario('one', steps), requests: 300, users: 50 },
    });
    const used = new Map();
    for (const { url, headers } of server.requests) {
      if (url === '/new') {
        assert.equal(headers.cookie, undefined);
        continue;
      }
      const [, , id, iteration] = url.split('/');
      assert.equal(headers.cookie, `sid=${id.slice(3)}`);
      used.set(id, [...(used.get(id) ?? []), iteration]);
    }
    // Each value twice, both times in the same iteration.
    assert.equal(used.size, 300);
    for (const [id, [first, second, ...rest]] of used) {
      assert.deepEqual([first, rest], [second, []], id);
    }
    assert.equal(new Set([...used.values()].map(([it]) => it)).size, 300);
    assert.deepEqual([result.iterations.completed, result.requests.sent], [300, 900]);
  });

  test('of a CSV file are one row for an iteration, and {{seq}} is one number', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-rows-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const users = join(folder, 'users.csv');
    writeFileSync(users, 'name,password\nann,p1\nbob,p2\ncid,p3\n');
    const server = await scenarioServer(t);
    const row = `{{csv:${users}:name}}/{{csv:${users}:password}}/{{seq}}`;
    const steps = [
      request('a', `GET /a/${row}`),
      request('b', 'POST /b', { json: { row } }),
      request('c', 'GET /c', { headers: { 'x-row': row } }),
    ];
    await load({ url: server.url, scenario: scenario('rows', steps), requests: 6, users: 1 });
    const rows = server.requests.map(({ url, body: content, headers }) =>
      url === '/b' ? JSON.parse(content).row : (headers['x-row'] ?? url.slice(3)),
    );
    const names = ['ann/p1', 'bob/p2', 'cid/p3', 'ann/p1', 'bob/p2', 'cid/p3'];
    assert.deepEqual(
      rows.map((it) => it.replace(/\/\d+$/, '')),
      names.flatMap((it) => [it, it, it]),
    );
    const numbers = rows.map((it) => Number(it.split('/')[2]));
    assert.deepEqual(
      numbers,
      names.flatMap((_, at) => Array(3).fill(numbers[0] + at)),
    );
  });
});
