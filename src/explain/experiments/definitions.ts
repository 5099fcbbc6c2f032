import { count } from '../../format/units.js';
import type { LoadOptions } from '../../load/options.js';
import { injectedMs } from '../hypotheses/event-loop/loop-capacity.js';
import { widerPool } from '../hypotheses/machine/threadpool.js';
import { callDelayMs } from '../hypotheses/outbound/calls.js';
import { cpuMsOf, halfConnections, halfShare, working } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { Change, ExperimentName, Setting } from './types.js';

/** One thing to change, and why it tells something. */
export interface Experiment {
  name: ExperimentName;
  /** In words, for the report. */
  describe(facts: Metrics): string;
  /** Why it cannot be done here; `null` if it can. */
  obstacle(setting: Setting, facts: Metrics): string | null;
  change(facts: Metrics, options: LoadOptions): Change;
  /** Whether the change took place, as far as that is seen: a command may set its own environment. */
  tookPlace?(block: Observation, facts: Metrics): boolean;
  /** What is compared; without it throughput. */
  metric?: { name: string; of(block: Observation): number | null };
}

const ELSEWHERE = 'the server is on another machine: --allow-more-load permits it';
const never = () => null;
const needsProbe = ({ probe }: Setting) => (probe ? null : 'there is no probe inside the server');
const needsRestart = ({ restart }: Setting) =>
  restart ? null : 'the server was not started by this tool';

/** A server with other settings of its process. */
function restarted(
  name: ExperimentName,
  words: string,
  environment: (facts: Metrics) => Record<string, string>,
): Experiment {
  return {
    name,
    describe: () => words,
    obstacle: needsRestart,
    change: (facts) => ({ environment: environment(facts) }),
  };
}

export const EXPERIMENTS: Experiment[] = [
  {
    name: 'connections x2',
    describe: ({ maxConcurrency }) =>
      `${count(maxConcurrency)} to ${count(maxConcurrency * 2)} in flight`,
    obstacle: ({ moreLoad }) => (moreLoad ? null : ELSEWHERE),
    change: ({ base }) => ({ load: { connections: base.load.plan.connections * 2 } }),
  },
  {
    name: 'connections /2',
    describe: (facts) =>
      `${count(facts.maxConcurrency)} to ${count(halfShare(facts) * facts.maxConcurrency)} in flight`,
    obstacle: (_, { base }) => (base.load.plan.connections < 2 ? 'there is one connection' : null),
    change: (facts) => ({ load: { connections: halfConnections(facts) } }),
  },
  {
    name: 'cpu injection',
    describe: (facts) => `${Math.round(injectedMs(facts) * 1000)} µs of work more per request`,
    obstacle: needsProbe,
    change: (facts) => ({
      probe: {
        on: { name: 'spin', given: { microseconds: Math.round(injectedMs(facts) * 1000) } },
        off: { name: 'spin', given: { microseconds: 0 } },
      },
    }),
  },
  {
    name: 'early acknowledgement',
    describe: () =>
      'an empty line is sent as soon as a response has begun: the acknowledgement goes with it',
    obstacle: (_, { base }) =>
      base.load.plan.connection === 'close' ? 'connections are not kept' : null,
    change: () => ({ earlyAckProbe: true }),
  },
  {
    name: 'identity encoding',
    describe: () => 'accept-encoding: identity',
    obstacle: (_, { identityBytes }) =>
      identityBytes === null ? 'the server compresses what is to be plain, too' : null,
    change: (_, { headers }) => ({
      load: { headers: withHeader(headers, 'accept-encoding', 'identity') },
    }),
  },
  {
    name: 'keep-alive',
    describe: () => 'connections are kept',
    obstacle: (_, { base }) =>
      base.load.plan.connection === 'close' ? null : 'the client keeps its connections already',
    change: (facts) => ({ load: kept(facts) }),
  },
  {
    name: 'tls kept',
    describe: () => 'connections, and with them TLS sessions, are kept',
    obstacle: (_, { base }) =>
      base.load.plan.tls === null
        ? 'there is no TLS'
        : base.load.plan.tls === 'keep-alive' && base.load.plan.connection === 'keep-alive'
          ? 'the client keeps its connections already'
          : null,
    change: (facts) => ({ load: kept(facts) }),
  },
  {
    name: 'depth 1',
    describe: ({ maxConcurrency }) => `${count(maxConcurrency)} connections with one request each`,
    obstacle: ({ moreLoad }, { model }) => {
      if (model === 'open') return 'the load is a rate';
      return moreLoad ? null : ELSEWHERE;
    },
    change: ({ maxConcurrency }) => ({ load: { connections: maxConcurrency, pipelining: 1 } }),
  },
  {
    name: 'two generators',
    describe: ({ base }) =>
      `${base.load.plan.threads * 2} threads of the generator, the same connections`,
    obstacle: (_, { base }) =>
      base.load.plan.connections < base.load.plan.threads * 2
        ? 'there are too few connections'
        : null,
    change: ({ base }) => ({ load: { threads: base.load.plan.threads * 2 } }),
  },
  {
    name: 'output muted',
    describe: () => 'what the server writes to stdout and stderr is dropped',
    // A server that was running already keeps its log.
    obstacle: (setting) => needsProbe(setting) ?? needsRestart(setting),
    change: () => ({
      probe: {
        on: { name: 'mute', given: { on: true } },
        off: { name: 'mute', given: { on: false } },
      },
    }),
  },
  {
    name: 'writes corked',
    describe: () => 'the parts of a response are collected and written at once',
    obstacle: (setting) =>
      setting.nativeStack ? 'the native stack writes once per turn anyway' : needsProbe(setting),
    change: () => ({
      probe: {
        on: { name: 'cork', given: { on: true } },
        off: { name: 'cork', given: { on: false } },
      },
    }),
  },
  {
    name: 'sockets x2',
    describe: () => 'twice the sockets for calls to others (maxSockets, connections of undici)',
    obstacle: needsProbe,
    change: () => ({
      probe: {
        on: { name: 'maxSockets', given: { factor: 2 } },
        off: { name: 'maxSockets', given: { factor: 1 } },
      },
    }),
  },
  {
    name: 'calls delayed',
    describe: (facts) => `each call to another service begins ${callDelayMs(facts)} ms later`,
    obstacle: (setting, facts) =>
      needsProbe(setting) ??
      (facts.model === 'open' ? 'the load is a rate' : null) ??
      (callDelayMs(facts) === null ? 'there are no calls, or too short ones' : null),
    change: (facts) => ({
      probe: {
        on: { name: 'outboundDelay', given: { ms: callDelayMs(facts) ?? 0 } },
        off: { name: 'outboundDelay', given: { ms: 0 } },
      },
    }),
  },
  {
    name: 'questions at once',
    describe: () => 'connections to other services send what they are given at once (TCP_NODELAY)',
    obstacle: needsProbe,
    change: () => ({
      probe: {
        on: { name: 'noDelay', given: { on: true } },
        off: { name: 'noDelay', given: { on: false } },
      },
    }),
  },
  {
    name: 'unknown path',
    describe: () => 'requests for a path that there is not (404)',
    obstacle: ({ moreLoad }, { unknownPath, model }) => {
      if (model === 'open') return 'the load is a rate';
      if (unknownPath === null) return 'every path is answered alike';
      return moreLoad ? null : ELSEWHERE;
    },
    change: ({ unknownPath }) => (unknownPath === null ? {} : { url: unknownPath }),
    // Errors are what it is to give.
    metric: { name: 'responses per second', of: ({ throughput }) => throughput },
  },
  {
    name: 'shorter pause',
    describe: ({ base }) =>
      `half of the pause between two requests: ${base.load.plan.thinkTimeMs / 2} ms`,
    obstacle: ({ moreLoad }, { base }) => {
      if (base.load.plan.thinkTimeMs === 0) return 'there are no pauses';
      return moreLoad ? null : ELSEWHERE;
    },
    change: ({ base }) => ({ load: { thinkTime: base.load.plan.thinkTimeMs / 2 } }),
    metric: { name: 'share of requests that fail', of: failingOf },
  },
  {
    name: 'client deadline',
    describe: (facts) => `the client gives up after its time limit (${deadlineOf(facts)} ms)`,
    obstacle: never,
    change: (facts) => ({ load: { timeout: deadlineOf(facts) } }),
    metric: {
      name: 'requests ended per second',
      of: ({ load }) =>
        ((load.requests.ok + load.requests.statusErrors + load.requests.timeouts) * 1000) /
        load.durationMs,
    },
  },
  {
    ...restarted(
      'thread pool x4',
      'started again with a thread pool four times as large',
      (facts) => ({ UV_THREADPOOL_SIZE: String(widerPool(facts)) }),
    ),
    tookPlace: ({ inside }, facts) => Number(inside?.threadPoolSize) === widerPool(facts),
  },
  {
    ...restarted('young generation x4', 'started again with --max-semi-space-size=64', () => ({
      NODE_OPTIONS: '--max-semi-space-size=64',
    })),
    tookPlace: ({ inside }) => inside?.maxSemiSpaceMb === 64,
  },
  {
    ...restarted('heap x2', 'started again with twice the heap', ({ base }) => ({
      NODE_OPTIONS: `--max-old-space-size=${Math.round(2 * heapLimitMb(base))}`,
    })),
    tookPlace: ({ inside }, { base }) =>
      (inside?.heap.limitMb ?? 0) > 1.5 * (base.inside?.heap.limitMb ?? 0),
  },
  {
    name: 'second process',
    describe: () => 'the command once more beside the first, each with half of the connections',
    obstacle: (setting, { base }) =>
      needsRestart(setting) ??
      (setting.probe ? null : 'its port is moved by the probe') ??
      (setting.ownPath ? `the server listens on ${setting.ownPath}, which it would take` : null) ??
      (working(base).length > 1 ? 'several processes work already' : null) ??
      (base.load.plan.connections < 2 * base.load.plan.threads ? 'there is one connection' : null),
    change: () => ({ withSecondProcess: true }),
  },
  {
    ...restarted('fresh start', 'started again, all else the same', () => ({})),
    metric: { name: 'CPU per response', of: cpuMsOf },
  },
];

/** Share of the requests that failed, as if half of one had: a ratio needs a number. */
function failingOf({ load: { requests } }: Observation): number {
  return (requests.transportErrors + 0.5) / (requests.sent + 1);
}

/** Of one process. */
function heapLimitMb({ inside }: Observation): number {
  return inside ? inside.heap.limitMb / Math.max(1, inside.processes) : 2000;
}

/** Connections, and with them TLS sessions, that are kept. */
function kept({ base }: Metrics): LoadOptions {
  return { connection: 'keep-alive', ...(base.load.plan.tls !== null && { tls: 'keep-alive' }) };
}

/** The time limit that `slow-dependency` proposes, for the client to try. */
function deadlineOf(facts: Metrics): number {
  return facts.deadlineMs ?? 1000;
}

function withHeader(
  headers: LoadOptions['headers'],
  name: string,
  value: string,
): Record<string, string | string[]> {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  const kept = pairs.filter(([key]) => key.toLowerCase() !== name);
  const merged: Record<string, string[]> = {};
  for (const [key, text] of kept) merged[key] = [...(merged[key] ?? []), ...[text].flat()];
  return { ...merged, [name]: value };
}
