// Runs millrace against the service of a case.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../dist/process/listening/free-port.js';
import { collect, end, errorLine, start } from '../harness/processes.js';
import { findNativeBinary } from '../native/bare.js';
import { createSurroundings, wrapInShell } from './surroundings.js';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Time that a run may take beyond its duration. */
const GRACE_S = 30;

/**
 * Runs `millrace WORDS FLAGS --json URL... -- SERVICE` in the case's surroundings and resolves with the printed JSON.
 *
 * @param words arguments before the flags of the load: `explain` and its flags, or those of a plain load
 * @param preload variables for the service alone; the variables of the case apply to millrace and the service, as for a user
 */
export async function runMillrace(bench, words, { cli, seconds, directory, preload = {} }) {
  const surroundings = createSurroundings(bench.surroundings ?? {});
  const folder = mkdtempSync(join(directory, 'run-'));
  try {
    const port = await findFreePort();
    const argv = [
      process.execPath,
      cli,
      ...words,
      ...bench.flags,
      '--json',
      ...buildUrls(bench, port),
    ];
    argv.push('--', ...surroundings.server(buildServiceCommand(bench, { port, folder, preload })));
    const environment = {
      ...process.env,
      ...bench.env,
      PORT: `${port}`,
      NODE_ENV: 'production',
    };
    const options = { env: environment };
    const child = start(surroundings.client(argv), surroundings.cores, options);
    return await readOutcome(child, seconds);
  } finally {
    await surroundings.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The command line of millrace. */
export const ownCli = here('../../bin/millrace.js');

async function readOutcome(child, seconds) {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  // At an interrupt millrace stops the service, too.
  const timers = [
    setTimeout(() => end(child, 'SIGINT'), (seconds + GRACE_S) * 1000),
    setTimeout(() => end(child, 'SIGKILL'), (seconds + 2 * GRACE_S) * 1000),
  ];
  const { code, signal } = await child.exited;
  timers.forEach(clearTimeout);
  try {
    return JSON.parse(stdout());
  } catch {
    throw new Error(errorLine(stderr()) || `ended with ${signal ?? `exit code ${code}`}`);
  }
}

function buildUrls({ flags, paths }, port) {
  const scheme = flags.includes('--tls') ? 'https' : 'http';
  return paths.map((path) => `${scheme}://127.0.0.1:${port}${path}`);
}

/** Builds the command line of a case's service. */
function buildServiceCommand({ service, node, shell, output }, { port, folder, preload }) {
  const argv =
    service === 'bare'
      ? [findNativeBinary('bare-server'), '--port', `${port}`]
      : [process.execPath, ...node, here(`services/${service}.js`)];
  const script = [shell, output === 'file' && `exec >> ${join(folder, 'output')}`].filter(Boolean);
  const own = Object.entries(preload).map(([name, value]) => `${name}=${value}`);
  const command = own.length > 0 ? ['env', ...own, ...argv] : argv;
  return script.length > 0 ? wrapInShell(script.join(' && '), command) : command;
}
