import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../../errors.js';
import { maskArguments, maskText } from '../../masking/text.js';
import {
  type EndpointResolver,
  endpointResolver,
  type Found,
  servedBy,
} from '../discovery/endpoint.js';
import { listeningSockets } from '../discovery/listening.js';
import { processTree } from '../discovery/process-tree.js';
import type { Endpoint } from '../discovery/types.js';
import { socketInodes } from '../procfs/descriptors.js';
import { hasProcfs, readStat } from '../procfs/procfs.js';
import { signalGroup, stopGroup } from './process-group.js';
import { type CommandOptions, type SpawnedCommand, spawnCommand } from './spawn.js';

/** A server that was started and listens; `host` is the address under which this machine reaches it. */
export interface ServerProcess extends Endpoint {
  pid: number;
  /** Its URL without a path. */
  origin: string;
  /** The other ports that it serves on by now. */
  otherPorts(): Promise<number[]>;
  /** Resolves when the command has ended, with how, as in `ended with exit code 1: Error: no database`. */
  exited: Promise<string>;
  /** Ends all processes of the command: SIGTERM, after 3 s SIGKILL. Resolves when they are gone. */
  stop(): Promise<void>;
}

/**
 * Starts a server in a process group of its own, and waits until it listens. The group does not
 * get the terminal's Ctrl-C. It is killed when this process exits, but not when this process is killed by a signal.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND`: it cannot be started, ends early, or does not listen in time;
 *   `ERR_MILLRACE_USAGE`: this system does not tell which port it listens on, it has to be given.
 * @example
 * const server = await startCommand(['node', 'server.js'], { timeoutMs: 10_000 });
 * console.log(`http://${server.host}:${server.port}/`);
 * await server.stop();
 */
export async function startCommand(
  command: string[],
  options: CommandOptions,
): Promise<ServerProcess> {
  options.signal?.throwIfAborted();
  const find = await endpointResolver(options.port, options.trial);
  const spawned = await spawnCommand(command, options);
  const { pid } = spawned;

  /** Groups of processes of the command's tree that left its group and serve the port. */
  let otherGroups: number[] = [];
  const killOnExit = () => {
    for (const group of [pid, ...otherGroups]) signalGroup(group, 'SIGKILL');
  };
  process.on('exit', killOnExit);
  const stop = async () => {
    await Promise.all([pid, ...otherGroups].map((group) => stopGroup(group)));
    await spawned.ended;
    spawned.close();
    process.off('exit', killOnExit);
  };
  try {
    const { tls, ...endpoint } = await waitForEndpoint(command, spawned, find, options);
    otherGroups = findOtherGroups(pid, endpoint.port);
    const exited = spawned.ended.then((how) => withLine(how, spawned.lastLine()));
    const otherPorts = async () => {
      const ports = new Set((await servedBy(pid)).map(({ port }) => port));
      ports.delete(endpoint.port);
      return [...ports];
    };
    return { pid, ...endpoint, origin: originOf(endpoint, tls), otherPorts, exited, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The process groups beside the command's own that serve a port and are led by a process of the command's tree, as of a
 * server that is started detached.
 */
function findOtherGroups(command: number, port: number): number[] {
  if (!hasProcfs) return [];
  const inodes = listeningSockets(command).flatMap((it) => (it.port === port ? it.inode : []));
  const tree = processTree(command);
  const groups = tree.flatMap((pid) => {
    const isServing = socketInodes(pid)?.some((inode) => inodes.includes(inode)) ?? false;
    return isServing ? [readStat(`/proc/${pid}`)?.group ?? command] : [];
  });
  return [...new Set(groups)].filter((group) => group !== command && tree.includes(group));
}

/** A certificate for this machine is for its name. */
function originOf({ host, port }: Endpoint, tls: boolean): string {
  if (tls) return `https://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Looks until the server listens, has ended, or the time is over. */
async function waitForEndpoint(
  command: string[],
  { pid, ended, lastLine }: SpawnedCommand,
  find: EndpointResolver,
  { port, timeoutMs, signal }: CommandOptions,
): Promise<Found> {
  const name = `\`${maskArguments(command).join(' ')}\``;
  const wanted = port === undefined ? 'on any port' : `on port ${port}`;
  const fail = (what: string) =>
    new MillraceError('ERR_MILLRACE_COMMAND', withLine(`${name} ${what}`, lastLine()));
  const deadline = performance.now() + timeoutMs;
  let end: string | undefined;
  ended.then((how) => {
    end = how;
  });
  for (;;) {
    signal?.throwIfAborted();
    if (end !== undefined) {
      const advice = /exit code 0$/.test(end) ? IN_BACKGROUND : '';
      throw fail(`${end} before it listened ${wanted}${advice}`);
    }
    const begin = performance.now();
    const endpoint = await find(pid, begin > deadline);
    if (endpoint !== null) return endpoint;
    if (begin > deadline) {
      throw fail(describeTimeout(port, pid, `after ${timeoutMs / 1000} s`));
    }
    // Reading the kernel's tables may take milliseconds: looking is to take a fifth of a core at most.
    await sleep(Math.max(10, 4 * (performance.now() - begin)));
  }
}

/** Daemons end their first process so. */
const IN_BACKGROUND = ' (one that goes to the background is loaded by its URL, without --)';

/** Describes what the command's processes do in place of accepting connections on the port; `when` is as in "after 30 s". */
function describeTimeout(port: number | undefined, pid: number, when: string): string {
  if (port === undefined) return `does not listen on any port ${when}`;
  const ports = new Set(listeningSockets(pid).map((socket) => socket.port));
  if (ports.has(port)) return `listens on port ${port}, but accepts no connection there ${when}`;
  const others = ports.size === 0 ? '' : `, only on ${[...ports].join(', ')}`;
  return `does not listen on port ${port} ${when}${others}`;
}

function withLine(text: string, line: string): string {
  return line === '' ? text : `${text}: ${maskText(line)}`;
}
