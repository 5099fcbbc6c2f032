import { count } from '../../format/units.js';
import { speaksHttp2 } from '../../load/http-version.js';
import type { LoadOptions } from '../../load/options.js';
import { listHeaders } from '../../validation/headers.js';
import type { ExperimentName } from '../experiment-names.js';
import { computeInjectedMs } from '../hypotheses/event-loop/loop-capacity.js';
import { proposePoolSize } from '../hypotheses/machine/pool-size.js';
import { computeCallDelayMs } from '../hypotheses/outbound/calls.js';
import {
  computeCpuMs,
  computeHalvedShare,
  findWorkingProcesses,
  halveConnections,
} from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import { buildAsideEnvironment, hasAsideFiles } from '../target/files-aside.js';
import { DEPENDENCY_EXPERIMENTS } from './dependency-experiments.js';
import { type Experiment, requireProbe, requireRestart } from './experiment.js';

const OTHER_MACHINE = 'the server is on another machine (--allow-more-load permits it)';
const findNone = () => null;

/** Defines an experiment that restarts the server with other environment variables. */
function defineRestart(
  name: ExperimentName,
  words: string,
  environment: (metrics: Metrics) => Record<string, string>,
): Experiment {
  return {
    name,
    describe: () => words,
    findObstacle: requireRestart,
    change: (metrics) => ({ environment: environment(metrics) }),
  };
}

export const EXPERIMENTS: Experiment[] = [
  {
    name: 'connections-x2',
    describe: ({ maxConcurrency }) =>
      `${count(maxConcurrency)} to ${count(maxConcurrency * 2)} in flight`,
    findObstacle: ({ canAddLoad }) => (canAddLoad ? null : OTHER_MACHINE),
    change: ({ base }) => ({ load: { connections: base.load.plan.connections * 2 } }),
    isOfBusyLoop: true,
    keepsCost: true,
  },
  {
    name: 'connections-half',
    describe: (metrics) =>
      `${count(metrics.maxConcurrency)} to ${count(computeHalvedShare(metrics) * metrics.maxConcurrency)} in flight`,
    findObstacle: (_, { base }) =>
      base.load.plan.connections < 2 ? 'the load has one connection' : null,
    change: (metrics) => ({ load: { connections: halveConnections(metrics) } }),
    isOfBusyLoop: true,
    keepsCost: true,
  },
  {
    name: 'cpu-injection',
    describe: (metrics) =>
      `${Math.round(computeInjectedMs(metrics) * 1000)} µs of extra work per request`,
    findObstacle: requireProbe,
    change: (metrics) => ({
      probe: {
        on: {
          name: 'spin',
          options: { microseconds: Math.round(computeInjectedMs(metrics) * 1000) },
        },
        off: { name: 'spin', options: { microseconds: 0 } },
      },
    }),
    isOfBusyLoop: true,
  },
  {
    name: 'early-ack',
    describe: () =>
      'the client sends an empty line as soon as a response begins, which carries the acknowledgement',
    findObstacle: (_, { base }) => {
      const { plan } = base.load;
      if (speaksHttp2(plan)) return 'HTTP/2 has no empty lines between requests';
      return plan.connection === 'close' ? 'the load does not keep connections open' : null;
    },
    change: () => ({ earlyAckProbe: true }),
  },
  {
    name: 'identity-encoding',
    describe: () => 'accept-encoding: identity',
    findObstacle: (_, { identityBytes }) =>
      identityBytes === null
        ? 'the server compresses responses to requests for identity encoding too'
        : null,
    change: (_, { headers }) => ({
      load: { headers: setHeader(headers, 'accept-encoding', 'identity') },
    }),
  },
  {
    name: 'keep-alive',
    describe: () => 'the client keeps connections open',
    findObstacle: (_, { base }) =>
      base.load.plan.connection === 'close' ? null : 'the client keeps its connections already',
    change: (metrics) => ({ load: keepConnections(metrics) }),
  },
  {
    name: 'tls-keep-alive',
    describe: () => 'the client keeps connections open, with their TLS sessions',
    findObstacle: (_, { base }) =>
      base.load.plan.handshake === null
        ? 'the load has no TLS'
        : base.load.plan.connection === 'keep-alive'
          ? 'the client keeps its connections already'
          : null,
    change: (metrics) => ({ load: keepConnections(metrics) }),
  },
  {
    name: 'tls-resumption',
    describe: () =>
      'each new connection resumes a TLS session, without the signature of a full handshake',
    findObstacle: (_, { base }) => {
      if (base.load.plan.handshake === null) return 'the load has no TLS';
      const isFull = countPerRequest(base, 'tlsFull') >= MIN_OPENED;
      return isFull ? null : 'few requests have a full handshake';
    },
    change: () => ({ load: { connection: 'close', handshake: 'resume' } }),
    // A server without session tickets does full handshakes whatever the client offers.
    tookEffect: (block) => countPerRequest(block, 'tlsResumed') >= MIN_OPENED,
    noEffectReason: 'the server resumes no TLS sessions',
    isPartial: true,
  },
  {
    name: 'no-pipelining',
    describe: ({ maxConcurrency }) => `${count(maxConcurrency)} connections without pipelining`,
    findObstacle: ({ canAddLoad }, { model }) => {
      if (model === 'open') return 'the load has a rate';
      return canAddLoad ? null : OTHER_MACHINE;
    },
    change: ({ maxConcurrency }) => ({ load: { connections: maxConcurrency, pipelining: 1 } }),
  },
  {
    name: 'generator-threads-x2',
    describe: ({ base }) => `${base.load.plan.threads * 2} generator threads, the same connections`,
    findObstacle: (_, { base }) =>
      base.load.plan.connections < base.load.plan.threads * 2
        ? 'the load has too few connections'
        : null,
    change: ({ base }) => ({ load: { threads: base.load.plan.threads * 2 } }),
  },
  {
    name: 'output-discarded',
    describe: () => 'output of the server to stdout and stderr is discarded',
    // A server that was running already keeps its log.
    findObstacle: (setting) => requireProbe(setting) ?? requireRestart(setting),
    change: () => ({
      probe: {
        on: { name: 'mute', options: { on: true } },
        off: { name: 'mute', options: { on: false } },
      },
    }),
  },
  {
    name: 'writes-corked',
    describe: () => 'the parts of a response are combined into one write',
    findObstacle: (setting, { base }) => {
      if (setting.isNativeStack) return 'the native stack combines writes anyway';
      if (speaksHttp2(base.load.plan)) return 'frames of HTTP/2 share writes anyway';
      return requireProbe(setting);
    },
    change: () => ({
      probe: {
        on: { name: 'cork', options: { on: true } },
        off: { name: 'cork', options: { on: false } },
      },
    }),
  },
  {
    name: 'max-sockets-x2',
    describe: () => 'twice the sockets for outbound calls (maxSockets, connections of undici)',
    findObstacle: requireProbe,
    change: () => ({
      probe: {
        on: { name: 'maxSockets', options: { factor: 2 } },
        off: { name: 'maxSockets', options: { factor: 1 } },
      },
    }),
  },
  {
    name: 'outbound-delay',
    describe: (metrics) =>
      `each call to another service begins ${computeCallDelayMs(metrics)} ms later`,
    findObstacle: (setting, metrics) =>
      requireProbe(setting) ??
      (metrics.model === 'open' ? 'the load has a rate' : null) ??
      (computeCallDelayMs(metrics) === null
        ? 'there are no outbound calls, or they are too short'
        : null),
    change: (metrics) => ({
      probe: {
        on: { name: 'outboundDelay', options: { ms: computeCallDelayMs(metrics) ?? 0 } },
        off: { name: 'outboundDelay', options: { ms: 0 } },
      },
    }),
    isOfBusyLoop: true,
  },
  {
    name: 'outbound-nodelay',
    describe: () => 'connections to other services send data at once (TCP_NODELAY)',
    findObstacle: requireProbe,
    change: () => ({
      probe: {
        on: { name: 'noDelay', options: { on: true } },
        off: { name: 'noDelay', options: { on: false } },
      },
    }),
  },
  ...DEPENDENCY_EXPERIMENTS,
  {
    name: 'not-found-path',
    describe: () => 'requests for a path that does not exist (404)',
    findObstacle: ({ canAddLoad }, { unknownPath, model }) => {
      if (model === 'open') return 'the load has a rate';
      if (unknownPath === null) return 'the server answers every path alike';
      return canAddLoad ? null : OTHER_MACHINE;
    },
    change: ({ unknownPath }) => (unknownPath === null ? {} : { url: unknownPath }),
    // Error responses are expected here.
    metric: { name: 'responses', read: ({ throughput }) => throughput },
  },
  {
    name: 'think-time-half',
    describe: ({ base }) =>
      `half of the pause between two requests: ${base.load.plan.thinkTimeMs / 2} ms`,
    findObstacle: ({ canAddLoad }, { base }) => {
      if (base.load.plan.thinkTimeMs === 0) return 'the load has no pauses (--think-time)';
      return canAddLoad ? null : OTHER_MACHINE;
    },
    change: ({ base }) => ({ load: { thinkTime: base.load.plan.thinkTimeMs / 2 } }),
    metric: { name: 'failed-share', read: computeFailureShare },
  },
  {
    name: 'client-timeout',
    describe: (metrics) => `the client gives up after ${readDeadlineMs(metrics)} ms`,
    findObstacle: findNone,
    change: (metrics) => ({ load: { timeout: readDeadlineMs(metrics) } }),
    metric: {
      name: 'finished-requests',
      read: ({ load }) =>
        ((load.requests.ok + load.requests.statusErrors + load.requests.timeouts) * 1000) /
        load.durationMs,
    },
  },
  {
    ...defineRestart(
      'thread-pool-x4',
      'restarted with a thread pool four times as large',
      (metrics) => ({ UV_THREADPOOL_SIZE: String(proposePoolSize(metrics)) }),
    ),
    tookEffect: ({ inside }, metrics) =>
      Number(inside?.threadPoolSize) === proposePoolSize(metrics),
  },
  {
    ...defineRestart('young-generation-x4', 'restarted with --max-semi-space-size=64', () => ({
      NODE_OPTIONS: '--max-semi-space-size=64',
    })),
    tookEffect: ({ inside }) => inside?.maxSemiSpaceMb === 64,
  },
  {
    ...defineRestart('heap-x2', 'restarted with twice the heap', ({ base }) => ({
      NODE_OPTIONS: `--max-old-space-size=${Math.round(2 * computeHeapLimitMb(base))}`,
    })),
    tookEffect: ({ inside }, { base }) =>
      (inside?.heap.limitMb ?? 0) > 1.5 * (base.inside?.heap.limitMb ?? 0),
  },
  {
    name: 'second-process',
    describe: () => 'a second process of the command, each with half of the connections',
    findObstacle: (setting, { base }) =>
      requireRestart(setting) ??
      (setting.hasProbe ? null : 'a second process needs the probe, which moves its port') ??
      (setting.socketPath
        ? `the server listens on ${setting.socketPath}, which a second process would take over`
        : null) ??
      (findWorkingProcesses(base).length > 1 ? 'several processes serve requests already' : null) ??
      (base.load.plan.connections < 2 * base.load.plan.threads
        ? 'the load has too few connections'
        : null),
    change: () => ({ withSecondProcess: true }),
    isOfBusyLoop: true,
  },
  {
    ...defineRestart(
      'file-writes-in-memory',
      'restarted with empty files in memory in place of those that it writes',
      ({ writtenFiles }) => buildAsideEnvironment(writtenFiles),
    ),
    findObstacle: (setting, { writtenFiles }) =>
      requireRestart(setting) ??
      requireProbe(setting) ??
      (writtenFiles.length === 0 ? 'the server opened no file for synchronous writes' : null),
    tookEffect: hasAsideFiles,
    noEffectReason: 'the server names its files differently at each start',
  },
  {
    ...defineRestart('restart', 'restarted, without other changes', () => ({})),
    metric: { name: 'cpu-per-response', read: computeCpuMs },
  },
];

/** Minimum of the handshakes per request at which connections are not kept. */
const MIN_OPENED = 0.3;

function countPerRequest(
  { load: { connections, requests } }: Observation,
  kind: 'tlsFull' | 'tlsResumed',
): number {
  return connections[kind] / Math.max(1, requests.ok + requests.statusErrors);
}

/** Computes the share of failed requests. Half a failure is added, as a ratio needs a number above 0. */
function computeFailureShare({ load: { requests } }: Observation): number {
  return (requests.transportErrors + 0.5) / (requests.sent + 1);
}

/** Computes the heap limit of one process in MB; 2000 without a probe. */
function computeHeapLimitMb({ inside }: Observation): number {
  return inside ? inside.heap.limitMb / Math.max(1, inside.processes) : 2000;
}

/** Returns the options of a load that keeps connections, and with them TLS sessions. */
function keepConnections({ base }: Metrics): LoadOptions {
  const isSecure = base.load.plan.handshake !== null;
  return { connection: 'keep-alive', ...(isSecure && { handshake: 'full' }) };
}

/** Reads the time limit that `slow-dependency` proposes, which the client tries in place of the server. */
function readDeadlineMs(metrics: Metrics): number {
  return metrics.deadlineMs ?? 1000;
}

function setHeader(
  headers: LoadOptions['headers'],
  name: string,
  value: string,
): [name: string, value: string][] {
  const kept = listHeaders(headers ?? []).filter(([key]) => key.toLowerCase() !== name);
  return [...kept, [name, value]];
}
