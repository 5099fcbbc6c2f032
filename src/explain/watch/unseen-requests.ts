import { bytes, plural, share, time } from '../../format/units.js';
import type { Hello } from '../../probe/protocol.cjs';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import { FIND_LEAK } from '../limits/cpu/memory-growth.js';
import type { Limit } from '../limits/limit.js';
import { LIMITS } from '../limits/limits.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';
import type { Observation } from '../observe/types.js';
import type { Judgement } from './judge.js';

/** A process that is seen from inside; `serving` if it has received requests. */
export type ConnectedProcess = Pick<Hello, 'pid' | 'serving'>;

/** What is known of the service beside a window. */
export interface WatchedService {
  /** The processes that are seen from inside. */
  connected: readonly ConnectedProcess[];
  /** Whether a process may run Node.js. */
  isNode(pid: number): boolean;
  /** The port that was given; `null` without one. */
  port: number | null;
  /** The ports on which the service listens; empty if that is unknown. */
  listeningPorts: readonly number[];
}

/**
 * Describes a window without a request that was seen.
 *
 * @param exhausted the processes that ended in it with a full heap
 */
export function describeUnseen(
  block: Observation,
  exhausted: readonly HeapExhaustion[],
  service: WatchedService,
): Judgement {
  const ended = describeExhaustion(exhausted);
  if (ended) return ended;
  return areAllConnected(block, service.connected)
    ? describeUnseenRequests(block, service)
    : describeOutside(block, service);
}

/** Share of a core from which on a process may serve requests. */
const MIN_SERVING_RUN = 0.05;

/** Whether every process that uses CPU time is observed from inside; a worker of a cluster may be too new. */
function areAllConnected(
  { outside }: Observation,
  connected: readonly ConnectedProcess[],
): boolean {
  const pids = new Set(connected.map(({ pid }) => pid));
  const others = (outside?.processes ?? []).filter(({ pid }) => !pids.has(pid));
  return pids.size > 0 && others.every(({ main }) => main.run < MIN_SERVING_RUN);
}

/** Describes a window without a request after a process has ended with a full heap; `null` if none has. */
function describeExhaustion([first]: readonly HeapExhaustion[]): Judgement | null {
  if (!first) return null;
  const { pid, heapUsedMb, heapLimitMb } = first;
  const { text }: Limit = LIMITS['memory-growth'];
  const sentence = `memory grows: process ${pid} has ended with ${bytes(heapUsedMb * 1e6)} in a heap of ${bytes(heapLimitMb * 1e6)}, and no request was seen since.`;
  return {
    verdict: {
      ...{ limit: 'memory-growth', status: 'likely', sentence },
      ...{ arithmetic: [], alsoLimiting: [] },
    },
    ...{ remedy: FIND_LEAK, confirmation: text.confirm ?? null },
    ...{ population: [], evidence: [] },
  };
}

/** Describes a window without a request of processes that are seen from inside. */
function describeUnseenRequests(
  { load, outside }: Observation,
  { connected, port, listeningPorts }: WatchedService,
): Judgement {
  const isElsewhere = port !== null && listeningPorts.length > 0 && !listeningPorts.includes(port);
  if (isElsewhere) {
    const ports = [...new Set(listeningPorts)].join(', ');
    return withoutVerdict(
      'cannot-tell',
      `cannot tell: only requests to port ${port} count, and the service listens on ${ports}.`,
    );
  }
  const serving = connected.find((one) => one.serving);
  const [{ pid }] = [serving ?? connected[0] ?? { pid: 0 }];
  const during = `in ${time(load.durationMs)}`;
  const main = outside?.processes.find((one) => one.pid === pid)?.main;
  const sentence = serving
    ? `cannot tell: process ${pid} has not answered ${during}: its event loop is blocked${main ? ` (its main thread is on a core ${share(main.run)} of the time)` : ''}.`
    : `no limit is seen: no request came to ${port === null ? '' : `port ${port} of `}node:http or node:http2 in process ${pid} ${during}; requests that worker threads or node:net servers answer are not observed.`;
  return withoutVerdict(serving ? 'cannot-tell' : 'no-limit', sentence);
}

function withoutVerdict(
  status: 'cannot-tell' | 'no-limit',
  sentence: string,
  arithmetic: string[] = [],
): Judgement {
  return {
    verdict: { limit: null, status, sentence, arithmetic, alsoLimiting: [] },
    ...{ remedy: null, confirmation: null, population: [], evidence: [] },
  };
}

/** Describes what is visible from outside: without the requests there is no limit to name. */
function describeOutside({ outside }: Observation, { isNode }: WatchedService): Judgement {
  const processes = outside?.processes ?? [];
  // A program that the service has started may be busier than its event loop.
  const nodes = processes.filter(({ pid }) => isNode(pid));
  const [busiest] = [...nodes].sort((a, b) => b.main.run - a.main.run);
  const seen = busiest
    ? `the main thread of process ${busiest.pid} is on a core ${share(busiest.main.run)} of the time`
    : 'its threads are not visible';
  const isBusy = (busiest?.main.run ?? 0) >= SATURATED;
  const throttled = outside?.quota?.throttledPeriods ?? 0;
  const full = processes.find(
    ({ openFiles, fileLimit }) => openFiles !== null && openFiles >= (fileLimit ?? Infinity) - 3,
  );
  return withoutVerdict(
    'cannot-tell',
    `cannot tell: the requests are not observed. From outside, ${seen}${isBusy ? ', so its event loop is probably the limit' : ''}.`,
    [
      ...(throttled > 0 ? [`a CPU quota throttles it in ${share(throttled)} of its periods`] : []),
      ...(full
        ? [
            `process ${full.pid} has ${plural(full.openFiles ?? 0, 'file')} open, of ${full.fileLimit} permitted`,
          ]
        : []),
    ],
  );
}
