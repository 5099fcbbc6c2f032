import { readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { bytes, count, plural, share, time } from '../../format/units.js';
import {
  type ControlAnswer,
  type ControlledServer,
  type ControlRequest,
  controlDirectories,
} from '../../http/cache/control-protocol.js';
import type { CacheSelection } from '../../http/cache/server-cache.js';
import { formatJson } from '../../report/json.js';
import { EXIT } from '../exit.js';
import type { CacheInvocation } from '../flags/cache-flags.js';
import { printText } from '../terminal/print.js';

/** Shows the output caches of this user's processes, or removes entries. */
export async function cacheCommand(invocation: CacheInvocation): Promise<number> {
  const { pid, json } = invocation;
  const answers = await askProcesses(pid, buildRequest(invocation));
  if (pid !== undefined && answers.length === 0) {
    throw new MillraceError(
      'ERR_MILLRACE_UNREACHABLE',
      `no process ${pid} of this user has an output cache (millrace cache lists those that have)`,
    );
  }
  if (json) process.stdout.write([...formatJson(answers)].join(''));
  else printText(render(answers));
  return EXIT.ok;
}

function buildRequest({ entries, clear, path, prefix }: CacheInvocation): ControlRequest {
  const actions = [entries, clear, path, prefix].filter((it) => it !== undefined);
  if (actions.length > 1) {
    throw usageError('cache: one of --entries, --delete, --delete-prefix and --clear at a time');
  }
  const selection: CacheSelection = {
    ...(path !== undefined && { path }),
    ...(prefix !== undefined && { prefix }),
  };
  if (path !== undefined || prefix !== undefined) return { do: 'delete', selection };
  return { do: clear ? 'clear' : entries ? 'entries' : 'show' };
}

/** Sends the request to one process, or to all of this user, and returns the answers of those that still run. */
async function askProcesses(
  pid: number | undefined,
  request: ControlRequest,
): Promise<ControlAnswer[]> {
  // The directories also contain the state of processes that share ports.
  const sockets = controlDirectories().flatMap((directory) =>
    readdirSync(directory)
      .filter((name) => /^\d+\./.test(name))
      .filter((name) => pid === undefined || name.split('.')[0] === String(pid))
      .map((name) => join(directory, name)),
  );
  const answers = await Promise.all(sockets.map((path) => askProcess(path, request)));
  return answers.filter((answer) => answer !== null).sort((a, b) => a.pid - b.pid);
}

/** Sends the request to the process of a socket; returns `null` if it has ended or does not answer. */
async function askProcess(path: string, request: ControlRequest): Promise<ControlAnswer | null> {
  const socket = net.connect(path);
  // A busy event loop answers later, a stopped process never.
  socket.setTimeout(5000, () => socket.destroy(new Error('no answer')));
  socket.end(JSON.stringify(request));
  try {
    const answer = JSON.parse(await text(socket));
    return 'servers' in answer ? answer : null;
  } catch (error) {
    // A process that was killed has left its socket.
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
    const lookups = stats.hits + stats.misses;
    const rate = lookups > 0 ? ` (${share(stats.hits / lookups)} of what can be stored)` : '';
    const waiting = stats.waiting > 0 ? `, ${count(stats.waiting)} wait` : '';
    lines.push(
      `  ${plural(stats.hits, 'hit')}${rate}, ${plural(stats.misses, 'miss', 'misses')}${waiting}`,
      `  ${plural(stats.entries, 'entry', 'entries')}, ${bytes(stats.bytes)}, ${count(stats.evictions)} evicted for want of room`,
    );
    const reasons = {
      ...prefixed('past it', stats.passes),
      ...prefixed('not stored', stats.notStored),
    };
    const counts = Object.entries(reasons).map(([reason, times]) => `${reason} ${count(times)}`);
    if (counts.length > 0) lines.push(`  ${counts.join(', ')}`);
  }
  for (const entry of entries?.toSorted((a, b) => b.hits - a.hits) ?? []) {
    const url = printable(`${entry.secure ? 'https' : 'http'}://${entry.host}${entry.target}`);
    const vary = entry.vary ? `, by ${entry.vary}` : '';
    const fields = printable(entry.fields.map((field) => `, ${field}`).join(''));
    lines.push(
      `  ${url}  ${entry.status}, ${bytes(entry.bytes)}, ${plural(entry.hits, 'hit')}, fresh for ${time(entry.freshForMs)}${vary}${fields}`,
    );
  }
  return lines.join('\n');
}

/** Clients have sent it: no byte of theirs commands the terminal. */
function printable(text: string): string {
  return text.replace(/[^ -~]/g, '?');
}

function prefixed(prefix: string, counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([reason, times]) => [`${prefix} (${reason})`, times]),
  );
}
