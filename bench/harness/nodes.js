// The versions of Node.js that servers are measured on.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { installNode } from '../../scripts/tests/node-binary.js';
import { exitWithUsageError } from './usage.js';

/**
 * Finds the Node.js of each of `wanted`, a major version or a binary, or without them the one that runs this:
 * `{ binary, version, major }`. A major version is installed from npm where it is missing.
 */
export function findNodes(wanted = []) {
  if (wanted.length === 0) return [describe(process.execPath)];
  return wanted.map((word) => describe(/^\d+$/.test(word) ? install(word) : resolve(word)));
}

function install(major) {
  try {
    return installNode(major);
  } catch ({ message }) {
    return exitWithUsageError(`--node ${major}: ${message}`);
  }
}

function describe(binary) {
  if (!existsSync(binary)) exitWithUsageError(`--node ${binary}: no such file`);
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  if (status !== 0) exitWithUsageError(`--node ${binary}: is no program that runs`);
  const version = stdout.trim();
  return { binary, version, major: Number(/\d+/.exec(version)[0]) };
}

/** The case as it is measured on a major version, which may have bars of its own. */
export function adaptCase(bench, major) {
  return { ...bench, bars: bench.barsOn?.[major] ?? bench.bars ?? [] };
}
