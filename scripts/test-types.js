// Checks tests and benchmarks, which are JavaScript, against the types of `dist`: what they use of it has to exist, so that a
// renamed field is an error. `tsconfig.tests.json` says what is checked, and what is not, with reasons.
//
//   node scripts/test-types.js            the errors
//   node scripts/test-types.js --update   writes scripts/loosely-typed.json: the files that have other errors
//
// A test that passes incomplete objects, or has tables whose rows differ, makes sense and has no types. Files of this kind are
// listed in scripts/loosely-typed.json: in them the names alone are checked, of modules, of what these export, and of the
// fields of types that `src` declares. In all other files every error counts. The list may only become shorter.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { report, root, run, tool } from './step.js';

const LIST = join(root, 'scripts', 'loosely-typed.json');

/** A line of the compiler's: `file(line,column): error TS2339: text`. */
const ERROR = /^(.+?)\(\d+,\d+\): error TS(\d+): (.*)$/;

/** Codes: a module, or an export of it, that is not there. */
const MODULES = ['2305', '2307', '2614', '2724'];

/** Codes: a property that a type does not have, read or given. */
const FIELDS = ['2339', '2353', '2551', '2561'];

/** Throws an Error with a line for each error that counts. */
export async function checkTestTypes() {
  const loose = readLoose();
  const names = readTypeNames();
  const errors = await listErrors();
  const found = errors.filter(({ file, ...error }) => !loose.has(file) || isOfName(error, names));
  const typed = [...loose].filter((file) => errors.every((error) => error.file !== file));
  const lines = [
    ...found.map(({ line }) => line),
    ...typed.map((file) => `scripts/loosely-typed.json: ${file} has no errors: remove it`),
  ];
  if (lines.length > 0) throw new Error(lines.join('\n'));
}

function readLoose() {
  return new Set(JSON.parse(readFileSync(LIST, 'utf8')));
}

/** The names of the types and classes that `src` declares. */
function readTypeNames() {
  const folder = join(root, 'dist');
  const files = readdirSync(folder, { recursive: true }).filter((name) => /\.d\.c?ts$/.test(name));
  const declared = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;
  return new Set(
    files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(declared)].map(([, type]) => type),
    ),
  );
}

/** The errors in tests and benchmarks: `{ file, code, text, line }`. */
async function listErrors() {
  const { output } = await run(tool('tsc'), ['-p', 'tsconfig.tests.json', '--pretty', 'false']);
  const lines = output.split('\n');
  const errors = lines.flatMap((line) => {
    const [, file, code, text] = ERROR.exec(line) ?? [];
    return /^(?:test|bench)\//.test(file) ? [{ file, code, text, line }] : [];
  });
  if (errors.length === 0 && output.trim() !== '') throw new Error(output.trim());
  return errors;
}

/** Whether an error, `{ code, text }`, is of a name; `names` are those of types. What one type of a union has counts as there. */
export function isOfName({ code, text }, names) {
  if (MODULES.includes(code)) return /'"?(?:\.|#|millrace)/.test(text);
  const [, type = ''] = / type '([^']+)'/.exec(text) ?? [];
  const [, name] = /^(?:typeof )?(?:(?:Partial|Readonly|Required)<)?(\w+)/.exec(type) ?? [];
  return FIELDS.includes(code) && names.has(name) && !type.includes(' | ');
}

async function writeLoose() {
  const files = new Set((await listErrors()).map(({ file }) => file));
  writeFileSync(LIST, `${JSON.stringify([...files].sort(), null, 2)}\n`);
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--update')) await writeLoose();
  process.exitCode = (await report('types of tests', checkTestTypes)) ? 0 : 1;
}
