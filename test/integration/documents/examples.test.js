// The compiler accepts every example in JavaScript of the documents.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from '../../fixtures/documents/documents.js';
import { GIVEN, listExamples } from '../../fixtures/documents/examples.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-examples-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const SETTINGS = {
  compilerOptions: {
    ...{ module: 'nodenext', target: 'es2024', noEmit: true, skipLibCheck: true },
    // The examples are JavaScript: parameters have no types.
    ...{ strict: true, noImplicitAny: false },
    ...{ typeRoots: [join(root, 'node_modules/@types')], types: ['node'] },
  },
  include: ['*.ts'],
};

/** Compiles texts as modules of a package that has millrace installed; the messages of the compiler, by line. */
function compile(texts) {
  const files = Object.entries({
    ...Object.fromEntries(texts.map((text, index) => [`example-${index}.ts`, text])),
    ...{ 'given.d.ts': GIVEN, 'package.json': '{"type":"module"}' },
    'tsconfig.json': JSON.stringify(SETTINGS),
  });
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { stdout, error } = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
  assert.equal(error, undefined);
  return stdout.split('\n').filter((line) => line !== '');
}

test('every example compiles against the types of the package', () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/millrace'));
  const examples = listExamples().filter(({ notRun }) => notRun === undefined);
  assert.ok(examples.length >= 15, `${examples.length} examples`);
  const messages = compile([
    ...examples.map(({ text }) => text),
    "import { load } from 'millrace';\nawait load({ url: 'http://127.0.0.1/', conections: 5 });",
  ]).map((message) =>
    message.replace(/.*example-(\d+)\.ts/, (_path, index) => {
      const { document, line } = examples[index] ?? { document: 'a misspelt option', line: 1 };
      return `${document}:${line}`;
    }),
  );
  // The last text shows that the compiler sees the types; its message takes several lines.
  assert.match(messages.join('\n'), /^a misspelt option:\d.*(?:\n {2}.*)*'connections'\?$/);
});
