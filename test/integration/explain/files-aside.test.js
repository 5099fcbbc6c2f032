// A process whose files are set aside finds them missing, and leaves them as they are.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PRELOAD = fileURLToPath(new URL('../../../dist/probe/preload.cjs', import.meta.url));
const APPLICATION = `
import fs, { existsSync, readFileSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
const [state, settings, next] = process.argv.slice(1);
const seen = [existsSync(state), readFileSync(settings, 'utf8')];
fs.writeFileSync(state, 'one ');
fs.appendFileSync(new URL('file://' + state), 'two ');
const fd = fs.openSync(state, 'a');
fs.writeSync(fd, 'three');
fs.closeSync(fd);
seen.push(await readFile(state, 'utf8'));
fs.writeFileSync(next, 'four');
await rename(next, state);
seen.push(readFileSync(state, 'utf8'), existsSync(next));
fs.writeFileSync(state + '-' + process.pid, 'five');
console.log(JSON.stringify(seen));
`;

test('reads, writes and renames of files that are set aside happen elsewhere', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'aside-'));
  try {
    const [state, settings, next] = ['state', 'settings', 'next'].map((name) =>
      join(directory, name),
    );
    writeFileSync(state, 'as it was');
    writeFileSync(settings, 'kept');
    const elsewhere = join(directory, 'elsewhere');
    const files = [state, next, `${state}-{pid}`];
    const aside = JSON.stringify({ files, directory: elsewhere, marker: 'used' });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--require', PRELOAD, '--input-type=module', '-e', APPLICATION, state, settings, next],
      { env: { ...process.env, MILLRACE_PROBE_ASIDE: aside } },
    );
    assert.deepEqual(JSON.parse(stdout), [false, 'kept', 'one two three', 'four', false]);
    assert.equal(readFileSync(state, 'utf8'), 'as it was');
    const [own] = readdirSync(elsewhere);
    const there = readdirSync(join(elsewhere, own));
    assert.equal(there.length, 3);
    assert.ok(there.includes('used'));
    assert.deepEqual(readdirSync(directory).sort(), ['elsewhere', 'settings', 'state']);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
