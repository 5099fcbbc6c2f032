import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findNetworkFolder } from '../../process/discovery/namespace.js';
import { readListenBacklog } from '../../process/listening/listen-backlog.js';
import { readLocalPorts } from '../../process/listening/local-ports.js';
import { hasProcfs } from '../../process/procfs/procfs.js';
import { countSockets } from '../../process/procfs/socket-counts.js';
import {
  canonicalizeAddress,
  ESTABLISHED,
  LISTEN,
  readTcpSockets,
  type TcpSocket,
} from '../../process/procfs/tcp-table.js';
import { readOwnCpuMs } from '../../process/procfs/thread-times.js';
import type { Peer } from './local-dependencies.js';
import { SocketOwners } from './socket-owners.js';
import type { SocketGroup, SocketStats } from './types.js';

/** The sockets to count. */
export interface SocketWatchTarget {
  /** The server's first process; `null` if it is on another machine or unknown. */
  pid: number | null;
  /**
   * Target of the load; `null` for a Unix socket, for which no table shows waiting bytes. A host name matches any
   * address.
   */
  endpoint: { host: string; port: number } | null;
}

/** A running sampler of sockets. */
export interface SocketWatch {
  /** Summarizes the samples between two times on the clock of `performance.now()`; `null` without `/proc`. */
  between(fromMs: number, toMs: number): SocketStats | null;
  /** Lists the other ends of the connections that the server had opened by the last sample; none in another namespace. */
  listPeers(): Peer[];
  stop(): void;
}

/** Maximum number of sockets that are read: more would take too long. */
const MAX_SOCKETS = 20_000;
/** Maximum share of one core for sampling. */
const MAX_CPU_SHARE = 1 / 20;

/** Sockets of a group in one sample. */
interface SocketCount {
  sockets: number;
  unread: number;
  unsent: number;
}

interface SocketSample {
  atMs: number;
  server: SocketCount;
  client: SocketCount;
  /** Connections in the accept queue; `null` if the listening socket is not there. */
  waiting: number | null;
  /** By peer. */
  outbound: Map<string, SocketCount>;
}

/** Taken even if there are too many sockets to sample. */
interface TimeWaitSample {
  atMs: number;
  sockets: number;
}

/**
 * Samples the kernel's table of TCP sockets four times a second at irregular intervals, until it is stopped. A sample
 * costs 3 ms for each of IPv4 and IPv6 that is in use, and 3 us per socket. It samples less often if that exceeds a
 * twentieth of a core, and not at all while there are more than 20,000 sockets. The timer does not keep this process
 * alive.
 *
 * @example
 * const watch = watchSockets({ pid, endpoint: { host: '127.0.0.1', port: 8080 } });
 * const fromMs = performance.now();
 * await measure();
 * console.log(watch.between(fromMs, performance.now())?.server.unread);
 * watch.stop();
 */
export function watchSockets(
  target: SocketWatchTarget,
  { intervalMs = 250 }: { intervalMs?: number } = {},
): SocketWatch {
  if (!hasProcfs) return { between: () => null, listPeers: () => [], stop() {} };
  const reader = new SocketTableReader(target);
  const samples: SocketSample[] = [];
  const timeWaits: TimeWaitSample[] = [];
  const ending = new AbortController();
  const run = async () => {
    while (!ending.signal.aborted) {
      const beginMs = readOwnCpuMs() ?? 0;
      timeWaits.push({ atMs: performance.now(), sockets: reader.countTimeWait() });
      const sample = reader.takeSample();
      if (sample !== null) samples.push(sample);
      const costMs = (readOwnCpuMs() ?? 0) - beginMs;
      // The interval is irregular so that samples do not coincide with periodic work of the server.
      const pauseMs = Math.max(intervalMs * (0.5 + Math.random()), costMs / MAX_CPU_SHARE);
      await sleep(pauseMs, undefined, { ref: false, signal: ending.signal });
    }
  };
  run().catch(() => {});
  let backlog: number | null = null;
  if (target.endpoint && reader.isHere) {
    readListenBacklog(target.endpoint.port).then((found) => {
      backlog = found;
    });
  }
  return {
    between: (fromMs, toMs) =>
      summarize(
        selectBetween(samples, fromMs, toMs),
        selectBetween(timeWaits, fromMs, toMs),
        backlog,
      ),
    listPeers: () => (reader.isHere ? [...(samples.at(-1)?.outbound.keys() ?? [])] : []),
    stop: () => ending.abort(),
  };
}

class SocketTableReader {
  /** Whether the server is in the same network namespace as this process. */
  readonly isHere: boolean;
  readonly #folder: string;
  readonly #port: number | null;
  /** `null` matches any host. */
  readonly #host: string | null;
  readonly #owners: SocketOwners | null;

  constructor({ pid, endpoint }: SocketWatchTarget) {
    this.#folder = findNetworkFolder(pid);
    this.isHere = this.#folder === findNetworkFolder(null);
    this.#port = endpoint?.port ?? null;
    const host = endpoint?.host.replace(/^\[|\]$/g, '') ?? '';
    this.#host = isIP(host) ? canonicalizeAddress(host) : null;
    this.#owners = pid === null ? null : new SocketOwners(pid);
  }

  countTimeWait(): number {
    return countSockets(this.#folder).timeWait;
  }

  /** Takes a sample; `null` if there are too many sockets. */
  takeSample(): SocketSample | null {
    const sample: SocketSample = {
      atMs: performance.now(),
      server: emptyCount(),
      client: emptyCount(),
      waiting: null,
      outbound: new Map(),
    };
    const sockets = readSockets(this.#folder);
    const others = this.isHere ? sockets : readSockets(findNetworkFolder(null));
    if (sockets === null || others === null) return null;
    const opened = this.#countServerSide(sockets, sample);
    for (const socket of others) if (this.#isClient(socket)) addSocket(sample.client, socket);
    this.#countOutbound(opened, sample);
    return sample;
  }

  /**
   * Counts the server's ends and the accept queue. Returns the connections that local programs opened to other servers.
   */
  #countServerSide(sockets: TcpSocket[], sample: SocketSample): TcpSocket[] {
    const listening = new Set<number>();
    const opened: TcpSocket[] = [];
    for (const socket of sockets) {
      const { state, localPort, inode } = socket;
      if (state === LISTEN) {
        listening.add(localPort);
        if (localPort === this.#port && this.#acceptsAt(socket.localHost())) {
          sample.waiting = Math.max(sample.waiting ?? 0, socket.unread);
        }
      } else if (state === ESTABLISHED && inode !== 0) {
        // Connections without an owner are still in the accept queue.
        if (localPort === this.#port && this.#acceptsAt(socket.localHost()))
          addSocket(sample.server, socket);
        else if (!this.#isClient(socket)) opened.push(socket);
      }
    }
    return opened.filter(({ localPort }) => !listening.has(localPort));
  }

  #countOutbound(opened: TcpSocket[], sample: SocketSample): void {
    for (const socket of this.#owners?.selectOwned(opened) ?? []) {
      const peer = formatPeer(socket);
      const socketCount = sample.outbound.get(peer) ?? emptyCount();
      sample.outbound.set(peer, socketCount);
      addSocket(socketCount, socket);
    }
  }

  #isClient(socket: TcpSocket): boolean {
    return (
      socket.state === ESTABLISHED &&
      socket.remotePort === this.#port &&
      (this.#host === null || this.#host === socket.remoteHost())
    );
  }

  /** Whether a socket with this local address accepts the load's connections. */
  #acceptsAt(host: string): boolean {
    return this.#host === null || [this.#host, '0.0.0.0', '::'].includes(host);
  }
}

/** Reads the sockets of both tables, each only if it has entries; `null` if there are too many. */
function readSockets(folder: string): TcpSocket[] | null {
  const { ipv4, ipv6, timeWait } = countSockets(folder);
  if (ipv4 + ipv6 + timeWait > MAX_SOCKETS) return null;
  return [
    ...(ipv4 > 0 ? readTcpSockets(`${folder}/tcp`) : []),
    ...(ipv6 > 0 ? readTcpSockets(`${folder}/tcp6`) : []),
  ];
}

function formatPeer(socket: TcpSocket): string {
  const host = socket.remoteHost();
  return `${host.includes(':') ? `[${host}]` : host}:${socket.remotePort}`;
}

function emptyCount(): SocketCount {
  return { sockets: 0, unread: 0, unsent: 0 };
}

function addSocket(socketCount: SocketCount, { unread, unsent }: TcpSocket): void {
  socketCount.sockets += 1;
  if (unread > 0) socketCount.unread += 1;
  if (unsent > 0) socketCount.unsent += 1;
}

function selectBetween<T extends { atMs: number }>(all: T[], fromMs: number, toMs: number): T[] {
  return all.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
}

function summarize(
  samples: SocketSample[],
  timeWaits: TimeWaitSample[],
  backlog: number | null,
): SocketStats {
  const waiting = samples.flatMap((sample) => sample.waiting ?? []);
  const peers = new Set(samples.flatMap(({ outbound }) => [...outbound.keys()]));
  const outbound = [...peers].map((peer) => {
    return {
      peer,
      ...summarizeGroup(samples.map((sample) => sample.outbound.get(peer) ?? emptyCount())),
    };
  });
  const ports = readLocalPorts();
  return {
    samples: samples.length,
    server: summarizeGroup(samples.map(({ server }) => server)),
    client: summarizeGroup(samples.map(({ client }) => client)),
    listen: waiting.length > 0 ? { waiting: Math.max(...waiting), backlog } : null,
    outbound: outbound.sort((a, b) => b.sockets - a.sockets),
    timeWait: timeWaits.at(-1)?.sockets ?? 0,
    localPorts: ports && ports.last - ports.first + 1,
  };
}

function summarizeGroup(socketCounts: SocketCount[]): SocketGroup {
  const sum = (name: keyof SocketCount) =>
    socketCounts.reduce((total, socketCount) => total + socketCount[name], 0);
  const counts = socketCounts.map(({ sockets }) => sockets);
  const total = Math.max(1, sum('sockets'));
  return {
    sockets: sum('sockets') / Math.max(1, socketCounts.length),
    min: counts.length > 0 ? Math.min(...counts) : 0,
    max: Math.max(0, ...counts),
    unread: sum('unread') / total,
    unsent: sum('unsent') / total,
  };
}
