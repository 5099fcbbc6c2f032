// Files as editors, shells and spreadsheets write them: byte order marks, UTF-16, CRLF, no last line end; and bytes that are no text.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';
import { readHeaderFile } from '#internal/load/requests/header.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-files-'));
after(() => rmSync(folder, { recursive: true }));

const url = 'http://127.0.0.1:8080/';

function file(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const WRITTEN = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a mark': (text) => Buffer.from(`\uFEFF${text}`),
  'UTF-16, little end first': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
  'UTF-16, big end first': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
  'UTF-16 without a mark': (text) => Buffer.from(text, 'utf16le'),
  CRLF: (text) => Buffer.from(text.replaceAll('\n', '\r\n')),
  CR: (text) => Buffer.from(text.replaceAll('\n', '\r')),
};

for (const [how, write] of Object.entries(WRITTEN)) {
  describe(`files in ${how}`, () => {
    test('targets in the text format are read', async () => {
      const targetsFile = file('t.txt', write(`GET ${url}a\nA: ü\n\nPUT ${url}b`));
      const { native } = await buildPlan({ targetsFile });
      assert.deepEqual(
        native.requests.map(({ method, target }) => `${method} ${target}`),
        ['GET /a', 'PUT /b'],
      );
      assert.deepEqual(native.requests[0].headers.at(-1), { name: 'A', value: 'ü' });
    });

    test('targets in JSON are read', async () => {
      const line = (path) => JSON.stringify({ method: 'GET', url: url + path });
      const targetsFile = file('t.json', write(`${line('a')}\n${line('b')}`));
      const { native } = await buildPlan({ targetsFile });
      assert.deepEqual(
        native.requests.map(({ target }) => target),
        ['/a', '/b'],
      );
    });

    test('CSV is read', async () => {
      if (how === 'CR') return;
      const csv = file('values.csv', write('id,name\n1,Jürgen\n2,x'));
      const { native } = await buildPlan({ url: `${url}{{csv:${csv}:id}}` });
      const [{ columns, rows }] = native.csv;
      assert.deepEqual(
        [columns, ...rows],
        [
          ['id', 'name'],
          ['1', 'Jürgen'],
          ['2', 'x'],
        ],
      );
    });

    test('headers are read', () => {
      const path = file('headers.txt', write('# of all\nA: 1\n\nB: ü'));
      assert.deepEqual(readHeaderFile(path), [
        ['A', '1'],
        ['B', 'ü'],
      ]);
    });
  });
}

const LATIN1 = Buffer.from('id,name\n1,J\u00fcrgen\n', 'latin1');

test('text in another encoding is refused with its line', async () => {
  const csv = file('latin1.csv', LATIN1);
  await assert.rejects(buildPlan({ url: `${url}{{csv:${csv}:id}}` }), {
    code: 'ERR_MILLRACE_USAGE',
    message: `CSV file '${csv}' must be UTF-8 or UTF-16 (line 2 is neither)`,
  });
  await assert.rejects(buildPlan({ targetsFile: csv }), {
    message: /must be UTF-8 or UTF-16 \(line 2 is neither\)/,
  });
});

test('a body that is not text has no placeholders, whatever it contains', async () => {
  for (const body of [
    Buffer.from('\u00ff{{unknown}}{{seq}}', 'latin1'),
    Buffer.from('{{csv:none.csv:id}}\0'),
    LATIN1,
  ]) {
    const { native } = await buildPlan({ url, bodyFile: file('body', body) });
    assert.deepEqual(native.requests[0].body, body);
    assert.deepEqual(native.csv, []);
  }
});

test('placeholders in a body of UTF-16 are refused', async () => {
  const bodyFile = file('wide', Buffer.from('\uFEFF{"id":"{{seq}}"}', 'utf16le'));
  await assert.rejects(buildPlan({ url, bodyFile }), { message: /UTF-16.*--no-placeholders/ });
  const { native } = await buildPlan({ url, bodyFile, placeholders: false });
  assert.equal(native.requests[0].body.length, 34);
});

test('an unknown placeholder is quoted in one line, however long it is', async () => {
  const body = `{{ a page\nof ${'text '.repeat(1000)} }}`;
  await assert.rejects(buildPlan({ url, body }), ({ message }) => {
    assert.match(message, /^unknown placeholder \{\{a page of text .*\.\.\.\}\}: known are/);
    return message.length < 300 && !message.includes('\n');
  });
});

test('a text file that exceeds the length of a string is refused in one line', async () => {
  const long = file('long.csv', '');
  truncateSync(long, 600 * 1024 * 1024);
  const options = { url, targetsFile: long };
  await assert.rejects(
    buildPlan(options),
    /^MillraceError: .* is too long for a text file: at most 511 MiB$/,
  );
  assert.throws(() => readHeaderFile(long), /is too long for a text file/);
  await assert.rejects(buildPlan({ url: `${url}{{csv:${long}:id}}` }), /is too long for a text/);
});

test('a path of a Unix socket that is too long is refused', async () => {
  const path = `/tmp/${'x'.repeat(150)}`;
  const message = /^the path of a Unix socket must have at most 10\d bytes \(got 155\)/;
  await assert.rejects(buildPlan({ url, socketPath: path }), { message });
  await assert.rejects(buildPlan({ url: `unix:${path}:/` }), { message });
});
