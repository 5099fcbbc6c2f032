// Starts a real database for a case, as programs of the distribution (install.sh): PostgreSQL, Redis or MariaDB. It stands
// for another host: it lives as long as the case, and restarts of the service find it as it was.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../../dist/process/listening/free-port.js';
import { end, start } from '../harness/processes.js';
import { allCores } from './surroundings.js';

const START_TIMEOUT_MS = 30_000;
const POSTGRES_FOLDERS = [17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`);

/** What each kind of database takes: its program, its user if the harness runs as root, and its command lines. */
const KINDS = {
  postgres: {
    program: () => findProgram('postgres', POSTGRES_FOLDERS),
    user: 'postgres',
    prepare: (program, folder) => [
      join(program, '..', 'initdb'),
      ...['-D', folder, '-A', 'trust', '-U', 'postgres'],
    ],
    serve: (program, folder, port) => [
      ...[program, '-D', folder, '-p', `${port}`, '-k', folder],
      ...['-c', 'listen_addresses=127.0.0.1'],
    ],
  },
  redis: {
    program: () => findProgram('redis-server', ['/usr/bin', '/usr/local/bin']),
    user: 'redis',
    serve: (program, folder, port) => [
      ...[program, '--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder],
    ],
  },
  mariadb: {
    program: () => findProgram('mariadbd', ['/usr/sbin', '/usr/bin']),
    user: 'mysql',
    prepare: (_, folder) => [
      'mariadb-install-db',
      ...['--no-defaults', `--datadir=${folder}`, '--auth-root-authentication-method=normal'],
      '--skip-name-resolve',
    ],
    serve: (program, folder, port) => [
      ...[program, '--no-defaults', `--datadir=${folder}`, `--port=${port}`],
      ...['--bind-address=127.0.0.1', `--socket=${join(folder, 'socket')}`, '--skip-grant-tables'],
    ],
  },
};

/** Describes what this machine lacks for a database; `null` if nothing. */
export function findMissingDatabase(kind) {
  return kind === undefined || KINDS[kind].program() !== null ? null : `no ${kind} is installed`;
}

/**
 * Runs `use` with the case, whose environment has DATABASE_PORT while its database is there, and DATABASE_FOLDER, which
 * has PostgreSQL's Unix socket.
 */
export async function withDatabase(bench, directory, use) {
  if (bench.database === undefined) return use(bench);
  const kind = KINDS[bench.database];
  const program = kind.program();
  const folder = mkdtempSync(join(directory, 'database-'));
  const as = (argv) => (userInfo().uid === 0 ? ['runuser', '-u', kind.user, '--', ...argv] : argv);
  if (userInfo().uid === 0) {
    chmodSync(directory, 0o755);
    spawnSync('chown', [kind.user, folder]);
  }
  let child;
  try {
    if (kind.prepare) {
      const [command, ...args] = as(kind.prepare(program, folder));
      const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${bench.database}: ${stderr.trim().split('\n').at(-1)}`);
    }
    const port = await findFreePort();
    child = start(as(kind.serve(program, folder, port)), allCores);
    child.stdout.resume();
    child.stderr.resume();
    await waitForPort(port);
    return await use({
      ...bench,
      env: { ...bench.env, DATABASE_PORT: `${port}`, DATABASE_FOLDER: folder },
    });
  } finally {
    if (child) {
      end(child, 'SIGKILL');
      await child.exited;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

function findProgram(name, folders) {
  const folder = folders.find((one) => existsSync(join(one, name)));
  return folder === undefined ? null : join(folder, name);
}

async function waitForPort(port) {
  const until = performance.now() + START_TIMEOUT_MS;
  const isOpen = () =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  while (!(await isOpen())) {
    if (performance.now() > until) throw new Error(`no database at port ${port}`);
    await delay(100);
  }
}
