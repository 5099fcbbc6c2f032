import { cpus } from 'node:os';
import { coresAllowed } from '../process/affinity.js';
import { quotasOf } from '../process/cgroup.js';
import { descriptorLimit, socketInodes } from '../process/descriptors.js';
import type { Endpoint } from '../process/endpoint.js';
import { localPorts, somaxconn } from '../process/kernel-settings.js';
import { readListeners } from '../process/listeners.js';
import { isThisMachine } from '../process/listening.js';
import { isNode, nodeVersion } from '../process/node-process.js';
import { type OutputTarget, outputTarget } from '../process/output-target.js';
import { readText } from '../process/procfs.js';
import { processTree } from '../process/tree.js';
import { blindSpots } from './blind-spots.js';

/** What is known of the server and its machine before any load. `null`: not known; why is in `cannotSee`. */
export interface Inventory {
  /** Whether the server is on this machine. */
  sameHost: boolean;
  /** Cores of this machine. */
  cores: number;
  /** Cores that the server may run on. */
  coresAllowed: number | null;
  /** Cores that the quota of the server's cgroup comes to; also `null` without one. */
  quotaCores: number | null;
  isNode: boolean | null;
  /** As in `v20.20.2`. */
  nodeVersion: string | null;
  /** Program and arguments. */
  command: string[] | null;
  /** Variables as the process was started with them; those that were not set are absent. */
  environment: Partial<Record<EnvironmentName, string>> | null;
  /** RLIMIT_NOFILE; infinite without one. */
  fileLimit: number | null;
  /** Bound for all listening sockets of this machine; `null` if the server is on another one. */
  somaxconn: number | null;
  /** Ports for outgoing connections of this machine. */
  localPorts: { first: number; last: number } | null;
  stdout: OutputTarget | null;
  stderr: OutputTarget | null;
  /** The server's process and its descendants. */
  processes: number[];
  /** Those of them that hold the listening socket; `null` where descriptors may not be read. */
  listening: number[] | null;
  /** Whether the server runs as another user. */
  otherUser: boolean | null;
  /** What cannot be seen, why, and what would settle it: a sentence each. */
  cannotSee: string[];
}

const ENVIRONMENT = ['UV_THREADPOOL_SIZE', 'NODE_OPTIONS'] as const;
type EnvironmentName = (typeof ENVIRONMENT)[number];

/**
 * Takes stock of a server.
 *
 * @param pid its first process; `null` if that is unknown or on another machine
 * @param endpoint where it is reached; `null` for a Unix socket
 */
export function inventory(pid: number | null, endpoint: Endpoint | null): Inventory {
  const sameHost = pid !== null || endpoint === null || isThisMachine(endpoint.host);
  const of = <T>(read: (pid: number) => T | null) => (pid === null ? null : read(pid));
  const quotas = of(quotasOf) ?? [];
  const processes = of(existingTree) ?? [];
  return {
    sameHost,
    cores: cpus().length,
    coresAllowed: of(coresAllowed)?.length ?? null,
    quotaCores: quotas.length > 0 ? Math.min(...quotas.map(({ cores }) => cores)) : null,
    isNode: of(isNode),
    nodeVersion: of(nodeVersion),
    command: of(readCommand),
    environment: of(readEnvironment),
    fileLimit: of(descriptorLimit),
    somaxconn: sameHost ? somaxconn() : null,
    localPorts: localPorts(),
    stdout: of((server) => outputTarget(server, 1)),
    stderr: of((server) => outputTarget(server, 2)),
    processes,
    listening: endpoint && holders(processes, endpoint.port),
    otherUser: of(isOtherUsers),
    cannotSee: blindSpots(pid, endpoint, sameHost),
  };
}

function existingTree(pid: number): number[] {
  return processTree(pid).filter((process) => readText(`/proc/${process}/stat`) !== null);
}

function readCommand(pid: number): string[] | null {
  const text = readText(`/proc/${pid}/cmdline`);
  return text ? text.replace(/\0$/, '').split('\0') : null;
}

function readEnvironment(pid: number): Inventory['environment'] {
  const text = readText(`/proc/${pid}/environ`);
  if (text === null) return null;
  const environment: Inventory['environment'] = {};
  for (const variable of text.split('\0')) {
    const name = ENVIRONMENT.find((wanted) => variable.startsWith(`${wanted}=`));
    if (name !== undefined) environment[name] = variable.slice(name.length + 1);
  }
  return environment;
}

function holders(processes: number[], port: number): number[] | null {
  const sockets = readListeners().filter((listener) => listener.port === port);
  const held = processes.map((pid) => ({ pid, inodes: socketInodes(pid) }));
  if (held.length === 0 || held.some(({ inodes }) => inodes === null)) return null;
  return held
    .filter(({ inodes }) => sockets.some(({ inode }) => inodes?.includes(inode)))
    .map(({ pid }) => pid);
}

function isOtherUsers(pid: number): boolean | null {
  // Real, effective, saved and file system's user.
  const user = /^Uid:\s*\d+\s+(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return user === undefined ? null : Number(user) !== process.geteuid?.();
}
