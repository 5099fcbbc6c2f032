import { findListeningSockets } from '../../process/listening/port-owners.js';
import { DEBUGGER_PORT } from '../observe/probe/attach.js';
import type { ProbeHub } from '../observe/probe/hub.js';
import { observeProcess, type ProcessObserver } from '../observe/process-observer.js';
import { type SocketWatch, watchSockets } from '../observe/socket-sampler.js';
import type { Observation, SocketGroup, SocketStats } from '../observe/types.js';
import { buildObservedLoad, toDurations } from './observed-load.js';

/** Intervals of readings from outside: a window lasts for seconds, and the watch should cost the machine little. */
const [PROCESS_INTERVAL_MS, SOCKET_INTERVAL_MS] = [500, 1000];

const NO_SOCKETS: SocketGroup = { sockets: 0, min: 0, max: 0, unread: 0, unsent: 0 };

/** Observes a service from one report to the next. A period holds its readings: a new one begins without any. */
export class WatchPeriod {
  readonly fromMs = performance.now();
  readonly #hub: ProbeHub;
  readonly #sockets: SocketWatch;
  readonly #processes: ProcessObserver;

  /** @param port the service's port; `null`: the first one on which it listens */
  constructor(pid: number, port: number | null, hub: ProbeHub) {
    const own = port ?? findServicePort(pid);
    // A name matches any address.
    const endpoint = own === null ? null : { host: 'localhost', port: own };
    const sockets = watchSockets({ pid, endpoint }, { intervalMs: SOCKET_INTERVAL_MS });
    this.#hub = hub;
    this.#sockets = sockets;
    this.#processes = observeProcess(pid, {
      intervalMs: PROCESS_INTERVAL_MS,
      listPeers: () => sockets.listPeers(),
    });
  }

  /** Returns what was observed between two times of this period. */
  observe(fromMs: number, toMs: number): Observation {
    const inside = this.#hub.between(fromMs, toMs);
    const sockets = hideClients(this.#sockets.between(fromMs, toMs));
    const load = buildObservedLoad({
      inside,
      startedAt: new Date(performance.timeOrigin + fromMs),
      durationMs: toMs - fromMs,
      connections: sockets?.server.sockets ?? 0,
      unread: sockets ? sockets.server.unread * sockets.server.sockets : 0,
    });
    return {
      load,
      durations: toDurations(inside),
      throughput: load.throughput.mean,
      outside: this.#processes.between(fromMs, toMs),
      inside,
      sockets,
    };
  }

  stop(): void {
    this.#processes.stop();
    this.#sockets.stop();
  }
}

/** Leaves out the clients on this machine, which are not ours. */
function hideClients(sockets: SocketStats | null): SocketStats | null {
  return sockets && { ...sockets, client: NO_SOCKETS };
}

function findServicePort(pid: number): number | null {
  const ports = findListeningSockets(pid).map(({ port }) => port);
  return ports.find((port) => port !== DEBUGGER_PORT) ?? null;
}
