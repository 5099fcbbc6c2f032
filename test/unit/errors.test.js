// The codes of errors: one table in the source, the same on the page of the API, and no code beside it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EXIT_CODES, toExitCode } from '#internal/cli/exit.js';
import { MillraceError } from '#internal/errors/millrace-error.js';

const root = new URL('../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, root), 'utf8');

/** The table: each member of the union with its comment. */
const CODES = [
  ...read('src/errors/millrace-error.ts').matchAll(/\/\*\* (.+) \*\/\n {2}\| '(\w+)'/g),
].map(([, when, code]) => [code, when]);

test('the page of the API lists each code, with when it comes', () => {
  const rows = [
    ...read('docs/reference/api.md').matchAll(/^\| `(ERR_MILLRACE_\w+)` \| (.+) \|$/gm),
  ];
  assert.deepEqual(
    rows.map(([, code, when]) => [code, when]),
    CODES,
  );
});

test('the source has no code that is not in the table, and throws each of them', () => {
  const files = readdirSync(new URL('src/', root), { recursive: true });
  const sources = files.filter(
    (name) => /\.c?ts$/.test(name) && !name.endsWith('millrace-error.ts'),
  );
  const used = sources.flatMap((name) => read(`src/${name}`).match(/ERR_MILLRACE_[A-Z]+/g) ?? []);
  // Those of the engine come from Rust.
  const codes = new Set([...used, 'ERR_MILLRACE_ENGINE']);
  assert.deepEqual([...codes].sort(), CODES.map(([code]) => code).sort());
});

test('each code has an exit code that the help describes', () => {
  const described = EXIT_CODES.map(([code]) => code);
  const exits = CODES.map(([code]) => [code, toExitCode(new MillraceError(code, ''))]);
  for (const [code, exit] of exits) assert.ok(described.includes(exit), `${code}: ${exit}`);
  const { ERR_MILLRACE_USAGE: usage, ERR_MILLRACE_DIFFERENT: different } =
    Object.fromEntries(exits);
  assert.deepEqual([usage, different], [2, 5]);
});
