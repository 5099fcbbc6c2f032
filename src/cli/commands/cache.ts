import { readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { MillraceError, usageError } from '../../errors.js';
import { bytes, count, plural, share, time } from '../../format/units.js';
import {
  type ControlAnswer,
  type ControlledServer,
  type ControlRequest,
  controlDirectories,
} from '../../http/cache/control-protocol.js';
import type { CacheSelection } from '../../http/cache/server-cache.js';
import { mustBe } from '../../validation/shape.js';
import { EXIT } from '../exit.js';
import type { Flag } from '../flags/flag.js';
import { parseArguments } from '../flags/parse.js';

const GROUP = 'Cache';

interface CacheCommand {
  entries?: boolean;
  clear?: boolean;
  path?: string;
  prefix?: string;
  json?: boolean;
}

export const CACHE_FLAGS: Flag<CacheCommand>[] = [
  {
    name: 'entries',
    group: GROUP,
    help: 'stored entries, most used first',
    set(command) {
      command.entries = true;
    },
  },
  {
    name: 'delete',
    value: 'PATH',
    group: GROUP,
    help: 'remove what is stored for this path, with its query',
    set(command, value, given) {
      command.path = aPath(value, given);
    },
  },
  {
    name: 'delete-prefix',
    value: 'PATH',
    group: GROUP,
    help: 'remove what is stored for all paths that begin so',
    set(command, value, given) {
      command.prefix = aPath(value, given);
    },
  },
  {
    name: 'clear',
    group: GROUP,
    help: 'remove everything',
    set(command) {
      command.clear = true;
    },
  },
  {
    name: 'json',
    group: GROUP,
    help: 'print JSON',
    set(command) {
      command.json = true;
    },
  },
];

function aPath(value: string, given: string): string {
  if (value.startsWith('/')) return value;
  throw mustBe(given, 'a path such as /news?page=2', value);
}

/** Looks at the output caches of this user's processes, or removes what they hold. */
export async function cacheCommand(args: string[]): Promise<number> {
  const command: CacheCommand = {};
  const { positional, command: rest } = parseArguments(args, CACHE_FLAGS, command, {}, 'cache');
  const [pid, ...more] = [...positional, ...(rest ?? [])];
  if (more.length > 0) throw usageError(`cache takes one process id (got '${more[0]}' as well)`);
  if (pid !== undefined && !/^[1-9]\d*$/.test(pid)) {
    throw usageError(`cache takes a process id (got '${pid}')`);
  }
  const only = pid === undefined ? null : Number(pid);
  const answers = await ask(only, buildRequest(command));
  if (only !== null && answers.length === 0) {
    throw new MillraceError(
      'ERR_MILLRACE_UNREACHABLE',
      `no process ${only} of this user has an output cache (millrace cache lists those that have)`,
    );
  }
  console.log(command.json ? JSON.stringify(answers, null, 2) : render(answers));
  return EXIT.ok;
}

function buildRequest({ entries, clear, path, prefix }: CacheCommand): ControlRequest {
  const asked = [entries, clear, path, prefix].filter((it) => it !== undefined);
  if (asked.length > 1) {
    throw usageError('cache: one of --entries, --delete, --delete-prefix and --clear at a time');
  }
  const selection: CacheSelection = {
    ...(path !== undefined && { path }),
    ...(prefix !== undefined && { prefix }),
  };
  if (path !== undefined || prefix !== undefined) return { do: 'delete', selection };
  return { do: clear ? 'clear' : entries ? 'entries' : 'show' };
}

/** What the processes answer; those that are gone do not. */
async function ask(only: number | null, request: ControlRequest): Promise<ControlAnswer[]> {
  // Beside the processes' sockets there may be what those who share ports know of each other.
  const sockets = controlDirectories().flatMap((directory) =>
    readdirSync(directory)
      .filter((name) => /^\d+\./.test(name))
      .filter((name) => only === null || name.split('.')[0] === String(only))
      .map((name) => join(directory, name)),
  );
  const answers = await Promise.all(sockets.map((path) => askOne(path, request)));
  return answers.filter((answer) => answer !== null).sort((a, b) => a.pid - b.pid);
}

/** `null`: it is gone, or does not answer. */
async function askOne(path: string, request: ControlRequest): Promise<ControlAnswer | null> {
  const socket = net.connect(path);
  // A process whose event loop is busy answers later, one that is stopped never.
  socket.setTimeout(5000, () => socket.destroy(new Error('no answer')));
  socket.end(JSON.stringify(request));
  try {
    const answer = JSON.parse(await text(socket));
    return 'servers' in answer ? answer : null;
  } catch (error) {
    // A process that was killed leaves its socket behind.
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') rmSync(path, { force: true });
    return null;
  }
}

function render(answers: ControlAnswer[]): string {
  const rows = answers.flatMap(({ pid, servers }) => servers.map((server) => ({ pid, server })));
  if (rows.length === 0) return 'No process of this user has an output cache.';
  return rows.map(({ pid, server }) => renderServer(pid, server)).join('\n');
}

function renderServer(pid: number, { address, stats, entries, removed }: ControlledServer): string {
  const lines = [`${pid}  ${address}`];
  if (removed !== undefined) return `${lines[0]}  ${count(removed)} removed`;
  if (stats) {
    const asked = stats.hits + stats.misses;
    const rate = asked > 0 ? ` (${share(stats.hits / asked)} of what can be stored)` : '';
    const waiting = stats.waiting > 0 ? `, ${count(stats.waiting)} wait` : '';
    lines.push(
      `  ${plural(stats.hits, 'hit')}${rate}, ${plural(stats.misses, 'miss', 'misses')}${waiting}`,
      `  ${plural(stats.entries, 'entry', 'entries')}, ${bytes(stats.bytes)}, ${count(stats.evictions)} evicted (cache full)`,
    );
    const reasons = {
      ...prefixed('past it', stats.passes),
      ...prefixed('not stored', stats.notStored),
    };
    const told = Object.entries(reasons).map(([why, times]) => `${why} ${count(times)}`);
    if (told.length > 0) lines.push(`  ${told.join(', ')}`);
  }
  for (const entry of entries?.toSorted((a, b) => b.hits - a.hits) ?? []) {
    const url = `${entry.secure ? 'https' : 'http'}://${entry.host}${entry.target}`;
    const vary = entry.vary ? `, by ${entry.vary}` : '';
    lines.push(
      `  ${url}  ${entry.status}, ${bytes(entry.bytes)}, ${plural(entry.hits, 'hit')}, fresh for ${time(entry.freshForMs)}${vary}`,
    );
  }
  return lines.join('\n');
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([why, times]) => [`${prefix} (${why})`, times]),
  );
}
