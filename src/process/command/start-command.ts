import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../../errors/millrace-error.js';
import { maskArguments, maskText } from '../../masking/text.js';
import { findProcessTree } from '../discovery/process-tree.js';
import {
  createEndpointResolver,
  type EndpointResolver,
  type FoundEndpoint,
  findServedEndpoints,
} from '../listening/endpoint.js';
import { findListeningSockets } from '../listening/port-owners.js';
import type { Endpoint } from '../listening/types.js';
import { readSocketInodes } from '../procfs/descriptors.js';
import { hasProcfs, readStat } from '../procfs/procfs.js';
import { type Command, listWords } from './command-line.js';
import { stopGroup } from './process-group.js';
import { type CommandOptions, type SpawnedCommand, spawnCommand } from './spawn.js';

/** A server that was started and listens. `host` is the address at which this machine reaches it. */
export interface ServerProcess extends Endpoint {
  pid: number;
  /** Its URL without a path. */
  origin: string;
  /** Returns the other ports on which it serves by now. */
  otherPorts(): Promise<number[]>;
  /** Resolves when the command has ended, with how, for example `ended with exit code 1: Error: no database`. */
  exited: Promise<string>;
  /** Ends all processes of the command: SIGTERM, SIGKILL after 3 s. Resolves when they have ended. */
  stop(): Promise<void>;
}

/**
 * Starts a server in a process group of its own, and waits until it listens. The group does not receive the terminal's
 * Ctrl-C. It ends with this process, also where a signal ends that.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if it cannot be started, ends early, or does not listen in time;
 *   `ERR_MILLRACE_USAGE` if this system does not report its port, so that a URL with a port is needed.
 * @example
 * const server = await startCommand(['node', 'server.js'], { timeoutMs: 10_000 });
 * console.log(`http://${server.host}:${server.port}/`);
 * await server.stop();
 */
export async function startCommand(
  command: Command,
  options: CommandOptions,
): Promise<ServerProcess> {
  options.signal?.throwIfAborted();
  const find = await createEndpointResolver(options.port, options.trial);
  const spawned = await spawnCommand(command, options);
  const { pid } = spawned;

  /** Process groups of descendants that left the command's group and serve the port. */
  let otherGroups: number[] = [];
  const stop = async () => {
    await Promise.all([pid, ...otherGroups].map((group) => stopGroup(group)));
    await spawned.ended;
    await spawned.close();
  };
  try {
    const { tls, ...endpoint } = await waitForEndpoint(command, spawned, find, options);
    otherGroups = findOtherGroups(pid, endpoint.port);
    for (const group of otherGroups) spawned.guard.add(group);
    const exited = spawned.ended.then((how) => appendLine(how, spawned.errorLine()));
    const otherPorts = async () => {
      const ports = new Set((await findServedEndpoints(pid)).map(({ port }) => port));
      ports.delete(endpoint.port);
      return [...ports];
    };
    return { pid, ...endpoint, origin: formatOrigin(endpoint, tls), otherPorts, exited, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Finds the process groups, other than the command's own, that serve a port and are led by a descendant of the command,
 * such as a server that was started detached.
 */
function findOtherGroups(command: number, port: number): number[] {
  if (!hasProcfs) return [];
  const inodes = findListeningSockets(command).flatMap((it) => (it.port === port ? it.inode : []));
  const tree = findProcessTree(command);
  const groups = tree.flatMap((pid) => {
    const isServing = readSocketInodes(pid)?.some((inode) => inodes.includes(inode)) ?? false;
    return isServing ? [readStat(`/proc/${pid}`)?.group ?? command] : [];
  });
  return [...new Set(groups)].filter((group) => group !== command && tree.includes(group));
}

/** Builds the origin. A certificate for this machine is issued for the name localhost. */
function formatOrigin({ host, port }: Endpoint, tls: boolean): string {
  if (tls) return `https://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Polls until the server listens, has ended, or the time is up. */
async function waitForEndpoint(
  command: Command,
  { pid, ended, errorLine }: SpawnedCommand,
  find: EndpointResolver,
  { port, timeoutMs, signal }: CommandOptions,
): Promise<FoundEndpoint> {
  const name = `\`${maskArguments(listWords(command)).join(' ')}\``;
  const wanted = port === undefined ? 'on any port' : `on port ${port}`;
  const fail = (what: string) =>
    new MillraceError('ERR_MILLRACE_COMMAND', appendLine(`${name} ${what}`, errorLine()));
  const deadline = performance.now() + timeoutMs;
  let end: string | undefined;
  ended.then((how) => {
    end = how;
  });
  for (;;) {
    signal?.throwIfAborted();
    if (end !== undefined) {
      const advice = /exit code 0$/.test(end) ? BACKGROUND_HINT : '';
      throw fail(`${end} before it listened ${wanted}${advice}`);
    }
    const begin = performance.now();
    const endpoint = await find(pid, begin > deadline);
    if (endpoint !== null) return endpoint;
    if (begin > deadline) {
      throw fail(describeTimeout(port, pid, `after ${timeoutMs / 1000} s`));
    }
    // Reading the kernel's tables may take milliseconds; polling uses at most a fifth of a core.
    await sleep(Math.max(10, 4 * (performance.now() - begin)));
  }
}

/** The first process of a daemon ends like this. */
const BACKGROUND_HINT = ' (for a server that runs in the background, give its URL without --)';

/**
 * Describes what the command's processes do instead of accepting connections on the port; `when` is text such as "after
 * 30 s".
 */
function describeTimeout(port: number | undefined, pid: number, when: string): string {
  if (port === undefined) return `does not listen on any port ${when}`;
  const ports = new Set(findListeningSockets(pid).map((socket) => socket.port));
  if (ports.has(port)) return `listens on port ${port}, but accepts no connection there ${when}`;
  const others = ports.size === 0 ? '' : `, only on ${[...ports].join(', ')}`;
  return `does not listen on port ${port} ${when}${others}`;
}

function appendLine(text: string, line: string): string {
  return line === '' ? text : `${text}: ${maskText(line)}`;
}
