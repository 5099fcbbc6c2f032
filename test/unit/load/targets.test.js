// Targets of load(): in the options, and in files.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from 'millrace';
import { buildPlan } from '#internal/load/plan/plan.js';
import { parseCsv } from '#internal/load/requests/csv.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-options-'));
after(() => rmSync(folder, { recursive: true }));

function file(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('targets have weights, and those without a host go to the URL', async () => {
  const { native, summary } = await buildPlan({
    url: 'http://h:81/',
    headers: { 'X-Run': '1', 'X-Both': 'run' },
    targets: [
      { url: '/a', weight: 3 },
      { url: 'http://h:82/b', method: 'DELETE', headers: { 'x-both': 'target' } },
    ],
  });
  assert.equal(summary.order, 'weighted');
  assert.deepEqual(
    summary.targets.map(({ method, url, weight }) => [method, url, weight]),
    [
      ['GET', 'http://h:81/a', 3],
      ['DELETE', 'http://h:82/b', 1],
    ],
  );
  assert.deepEqual(native.requests[1].headers.slice(3), [
    { name: 'x-both', value: 'target' },
    { name: 'X-Run', value: '1' },
  ]);
});

test("vegeta's text targets are read", async () => {
  const body = file('order.json', '{"a":1}');
  const targetsFile = file(
    'targets.txt',
    `# comment
GET http://h/1
X-A: b
X-A: c

POST http://h/2?x={{csv:a b.csv:c}}
Content-Type: application/json
@${body}
HEAD http://h/3\r
`,
  );
  const { native } = await buildPlan({ targetsFile, placeholders: false });
  assert.deepEqual(
    native.requests.map(({ method, target }) => [method, target]),
    [
      ['GET', '/1'],
      ['POST', '/2?x={{csv:a b.csv:c}}'],
      ['HEAD', '/3'],
    ],
  );
  assert.deepEqual(
    native.requests[0].headers.slice(3).map(({ value }) => value),
    ['b', 'c'],
  );
  assert.equal(native.requests[1].body.toString(), '{"a":1}');
});

test("vegeta's JSON targets are read", async () => {
  const targetsFile = file(
    'targets.json',
    `{"method":"GET","url":"http://h/1","header":{"X-A":["b"]}}

{"method":"POST","url":"http://h/2","body":"${btoa('hello')}","weight":2}`,
  );
  const { native, summary } = await buildPlan({ targetsFile });
  assert.equal(native.requests[0].headers.at(-1).value, 'b');
  assert.equal(native.requests[1].body.toString(), 'hello');
  assert.deepEqual(
    summary.targets.map(({ weight }) => weight),
    [1, 2],
  );
});

test('CSV is read by RFC 4180', () => {
  const { columns, rows } = parseCsv('id,text\r\n1,"a, ""b""\nc"\r\n2,\r\n', 'f.csv');
  assert.deepEqual(columns, ['id', 'text']);
  assert.deepEqual(rows, [
    ['1', 'a, "b"\nc'],
    ['2', ''],
  ]);
  assert.throws(
    () => parseCsv('a,b\n1,"x\ny"\n2\n', 'f.csv'),
    /f\.csv:4 must have 2 fields, as the first line has \(got 1\)/,
  );
  assert.throws(() => parseCsv('a\n"x', 'f.csv'), /f\.csv:2: a quote/);
  assert.throws(() => parseCsv('a\nb"x"\n', 'f.csv'), /f\.csv:2: a quote/);
  assert.throws(() => parseCsv('a\n"b"x\n', 'f.csv'), /f\.csv:2: a quote/);
  const old = parseCsv('id,text\r1,"a\rb"\r\r2,""', 'f.csv');
  assert.deepEqual(old.rows, [
    ['1', 'a\rb'],
    ['2', ''],
  ]);
  const [[long]] = parseCsv(`a\n"${'x""'.repeat(4_000_000)}"`, 'f.csv').rows;
  assert.equal(long.length, 8_000_000, 'a long field in quotes');
  assert.throws(() => parseCsv('a\n', 'f.csv'), /must have a line of column names/);
});

test('invalid lines of a targets file are refused with their position', async () => {
  const cases = [
    ['GET http://h/\nno colon here', /:2 must be 'Name: value' \(got 'no colon here'\)/],
    ['http://h/', /:1 must be METHOD URL \(got 'http:\/\/h\/'\)/],
    ['GET http://h/\n\nX-A: b', /:3 must be METHOD URL \(got 'X-A: b'\)/],
    ['GET http://h/\n\n# c\nGET ftp://h/', /:4: 'ftp:\/\/h\/' is not a URL/],
    ['POST http://h/\n@/no/such/file', /:2: body file '\/no\/such\/file' cannot be read/],
    ['{"method":"GET","url":"http://h/"}\n{"method":', /:2 must be one JSON object/],
    ['{"method":"GET"}', /:1 must have a method and a url/],
    [
      '{"method":"GET","url":"http://h/","headers":{}}',
      /:1: unknown field 'headers': use method, url, name, header, body or weight/,
    ],
    [
      '{"method":"GET","url":"http://h/","header":{"a":"b"}}',
      /:1: header must contain lists of text/,
    ],
    ['{"method":"GET","url":"http://h/","header":{"a":[5]}}', /:1: a must be text \(got 5\)/],
    ['{"method":"GET","url":"http://h/","weight":"5"}', /:1: weight must be a number \(got '5'\)/],
    ['{"method":"GET","url":"http://h/","body":"***"}', /:1: body must be base64/],
    ['# nothing\n', /contains no target/],
  ];
  for (const [text, message] of cases) {
    const targetsFile = file('bad.txt', text);
    await assert.rejects(load({ targetsFile }), (error) => {
      assert.equal(error.code, 'ERR_MILLRACE_USAGE');
      assert.match(error.message, message);
      return true;
    });
  }
});
