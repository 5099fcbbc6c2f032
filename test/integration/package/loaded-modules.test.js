// What runs in production loads nothing of the workbench: neither load tests, explanations nor their reports.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Parts of `src` that a service in production may load; the other ones are the workbench. */
const SHARED = ['environment', 'errors', 'masking', 'statistics', 'validation'];
const STACK = ['http', 'native', ...SHARED];
const DEADLINES = ['deadlines', 'outbound', ...SHARED];
const CLIENT = ['client', 'outbound', ...SHARED];

/** The parts of `src` that each entry for production may load. */
const ENTRIES = {
  'millrace/observe': ['probe', 'format'],
  'millrace/register': STACK,
  'millrace/http': STACK,
  'millrace/http/augment': ['http'],
  'millrace/https': STACK,
  'millrace/deadlines': DEADLINES,
  'millrace/deadlines/register': DEADLINES,
  'millrace/client': CLIENT,
};

/** Loads an entry, tells the scripts that V8 has compiled, as URLs. */
const LIST = `
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
const session = new Session();
session.connect();
const urls = [];
session.on('Debugger.scriptParsed', ({ params }) => urls.push(params.url));
session.post('Debugger.enable');
const [way, entry] = process.argv.slice(1);
if (way === 'import') await import(entry);
else createRequire(process.cwd() + '/program.js')(entry);
console.log(JSON.stringify(urls));
process.exit();`;

describe('modules that an entry loads', { concurrency: 2 }, () => {
  for (const [entry, parts] of Object.entries(ENTRIES)) {
    for (const way of ['import', 'require']) {
      test(`${way} of ${entry} loads nothing of the workbench`, async () => {
        const files = await listLoaded(way, entry);
        const sources = files.filter(isBuilt).flatMap(listSources);
        const loaded = new Set(sources.map((source) => source.split('/')[0].replace('.ts', '')));
        assert.ok(loaded.has(parts[0]), `${files}`);
        assert.deepEqual(
          [...loaded].filter((part) => !parts.includes(part)),
          [],
        );
        // The client loads undici when it is created.
        assert.deepEqual(files.filter(isOfDependency), []);
      });
    }
  }

  test('import of millrace loads the workbench, which the other tests would notice', async () => {
    const sources = (await listLoaded('import', 'millrace')).filter(isBuilt).flatMap(listSources);
    for (const part of ['load', 'explain', 'compare']) {
      assert.ok(
        sources.some((source) => source.startsWith(`${part}/`)),
        part,
      );
    }
    assert.ok(!sources.some((source) => source.startsWith('cli/')));
  });
});

/** Lists the files that a process loads with an entry. */
function listLoaded(way, entry) {
  const args = ['--input-type=module', '--eval', LIST, way, entry];
  const env = { ...process.env, NODE_OPTIONS: '', MILLRACE_STACK: '' };
  return new Promise((done, failed) => {
    execFile(process.execPath, args, { cwd: root, env, timeout: 30_000 }, (error, stdout) => {
      if (error) failed(error);
      else
        done(
          JSON.parse(stdout)
            .map(toPath)
            .filter((path) => path.startsWith(root)),
        );
    });
  });
}

function toPath(url) {
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

function isBuilt(file) {
  return file.startsWith(join(root, 'dist') + sep);
}

function isOfDependency(file) {
  return file.startsWith(join(root, 'node_modules') + sep);
}

/** The files of `src` in a compiled file, by its source map, as `http/index.ts`. */
function listSources(file) {
  // The only file without one imports stack.cjs, which is listed, too.
  if (!existsSync(`${file}.map`)) return [];
  const { sources } = JSON.parse(readFileSync(`${file}.map`, 'utf8'));
  return sources.map((source) =>
    relative(join(root, 'src'), resolve(dirname(file), source))
      .split(sep)
      .join('/'),
  );
}
