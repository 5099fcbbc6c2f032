// Checks the package as npm would publish it, without the network: publint looks at the fields of package.json and at the files
// that they name, are-the-types-wrong (attw) at what TypeScript and Node.js resolve for each entry.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, step, tool } from './step.js';

/**
 * Rules that do not hold for this package: it is ES modules, which `require()` loads in all versions of `engines`, and it has
 * subpaths, which the resolution of Node.js 10 does not know.
 */
const ATTW = ['--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm', '--no-color'];

/** Packs and checks the package; prints a line for each step; resolves to the names of those that failed. */
export async function checkPackedPackage() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-packed-'));
  const failed = [];
  const check = async (name, command, args) => {
    if (!(await step(name, command, args))) failed.push(name);
  };
  try {
    const tarball = await pack(folder);
    await check('publint', tool('publint'), ['--strict', tarball]);
    await check('attw', tool('attw'), [tarball, ...ATTW]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return failed;
}

async function pack(folder) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { code, output } = await run(npm, [
    'pack',
    '--ignore-scripts',
    '--pack-destination',
    folder,
  ]);
  if (code !== 0) throw new Error(output);
  return join(folder, readdirSync(folder)[0]);
}
