// The reference pages and the generated tables of the documents against types, option schemas and JSON schemas.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { listProperties, readSchema } from '../../../scripts/reference/schema-tables.js';
import { readOptionNames } from '../../../scripts/reference/shared-options.js';
import { formatPages } from '../../../scripts/reference.js';

/** What a load report has beside numbers. */
const WITHOUT_NUMBER = new Set(['reasons', 'workers', 'command', 'pid', 'source', 'series']);

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('a generated page is up to date', async () => {
  for (const { path, text } of await formatPages()) {
    test(path, () => assert.equal(read(path), text, 'run: node scripts/reference.js'));
  }
});

/** The names in a document that are code. */
function listCode(path) {
  return new Set([...read(path).matchAll(/`([^`\n]+)`/g)].map(([, name]) => name));
}

describe('the page of the API has', () => {
  const named = listCode('docs/reference/api.md');

  for (const folder of ['load', 'capacity', 'compare', 'explain']) {
    test(`every option of ${folder}`, async () => {
      const options = await readOptionNames(folder);
      assert.ok(options.length > 20, `${options.length} options`);
      const missing = options.filter((name) => !named.has(name));
      assert.deepEqual(missing, []);
    });
  }

  for (const kind of ['result', 'capacity', 'comparison', 'explanation', 'lab', 'history']) {
    test(`every property of ${kind}.schema.json`, () => {
      const properties = listProperties(readSchema(`${kind}.schema.json`));
      assert.ok(properties.length >= 20, `${properties.length} properties`);
      const missing = properties.filter((name) => !named.has(name));
      assert.deepEqual(missing, []);
    });
  }
});

test('every option has a meaning', () => {
  const pages = ['api', 'deadlines', 'scenarios', 'stack', 'testserver', 'cli'];
  const rows = pages.flatMap((page) => read(`docs/reference/${page}.md`).split('\n'));
  const options = rows.filter((line) => /^\| `.* \|.* \|.* \|$/.test(line));
  assert.ok(options.length > 200, `${options.length} rows`);
  assert.deepEqual(
    options.filter((line) => line.endsWith('|  |')),
    [],
  );
});

test('no two rows of a table have the same meaning', () => {
  for (const page of ['api', 'deadlines', 'scenarios', 'stack', 'testserver', 'cli']) {
    for (const table of read(`docs/reference/${page}.md`).split('\n\n')) {
      const meanings = [...table.matchAll(/^\| `.* \| ([^|]{20,}) \|$/gm)].map(([, text]) => text);
      const repeated = meanings.filter((text, index) => meanings.indexOf(text) < index);
      // These name what several results have.
      const own = repeated.filter((text) => !text.startsWith('As in '));
      assert.deepEqual(own, [], page);
    }
  }
});

describe('the methodology defines', () => {
  const page = read('docs/methodology.md');
  const named = new Set(
    [...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code.split(/[^\w]+/)),
  );
  const { properties, $defs } = readSchema('result.schema.json');

  for (const [title, node] of [
    ['requests', properties.requests],
    ['requests that were not sent', $defs.notSent],
    ['unfinished responses', $defs.unfinished],
    ['connections', properties.connections],
    ['the generator', $defs.generator],
    ['the server', $defs.server],
    ['the machine', properties.machine],
    ['iterations', $defs.iterations],
    ['hooks', properties.hooks],
    ['own metrics', $defs.ownMetric],
  ]) {
    test(`the numbers of ${title}`, () => {
      const numbers = Object.keys(node.properties).filter((name) => !WITHOUT_NUMBER.has(name));
      const missing = numbers.filter((name) => !named.has(name));
      assert.deepEqual(missing, []);
    });
  }

  test('every distribution and sum of a load', () => {
    const numbers = Object.keys(properties).filter((name) => /Ms$|^sums$|^throughput$/.test(name));
    assert.ok(numbers.length >= 9);
    assert.deepEqual(
      numbers.filter((name) => !named.has(name)),
      [],
    );
  });

  test('every reason of a failed step', () => {
    const reasons = $defs.step.properties.failures.items.properties.reason.enum;
    const list = page.slice(page.indexOf('Reasons of `failures`'));
    const missing = reasons.filter((reason) => !list.includes(`| \`${reason}\` |`));
    assert.deepEqual(missing, []);
  });

  test('every kind of error', () => {
    const kinds = properties.errors.items.properties.kind.enum;
    const list = page.slice(page.indexOf('`errors` lists the kinds'));
    const missing = kinds.filter((kind) => !new RegExp(`[\` ]${kind}[\` ]`).test(list));
    assert.deepEqual(missing, []);
  });
});
