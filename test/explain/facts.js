// Facts of which no signal is missing, of a server that is well: every judge has something to say to them.
import { readFileSync } from 'node:fs';
import { factsOf } from '../../dist/explain/facts.js';

const thread = { pid: 100, tid: 100, name: 'node', run: 0.3, queued: 0.01 };
const group = { sockets: 50, least: 50, most: 50, unread: 0, unsent: 0 };

const outside = {
  seconds: 3,
  processes: [
    {
      pid: 100,
      main: thread,
      others: [{ ...thread, tid: 101, run: 0 }],
      calls: { reads: 1000, writes: 1000, writtenBytes: 1e6, readBytes: 1e6 },
      majorFaults: 0,
      rssMb: 80,
      openFiles: 80,
      fileLimit: 1024,
    },
  ],
  cpu: { cores: 4, server: 0.3, self: 0.2, others: 0.1, idle: 3.4, wanted: 0.6, steal: 0 },
  seesQueues: true,
  selfQueued: 0,
  quota: { cores: 2, throttledPeriods: 0, throttledShare: 0 },
  network: { listenOverflows: 0, retransmitted: 0, sentSegments: 1000, synRetransmitted: 0 },
  linkShare: 0.1,
  diskPressure: 0,
};

const inside = {
  seconds: 3,
  processes: 1,
  pids: [100],
  workers: [],
  utilisation: 0.3,
  busyLoops: 0.3,
  loops: 1000,
  eventsPerLoop: 1,
  started: 1000,
  finished: 1000,
  inFlight: 50,
  handlerMs: 50,
  gc: { young: 0.01, old: 0, other: 0, longestMs: 1 },
  heap: { usedMb: 20, limitMb: 2000, afterOldMb: null, externalMb: 1 },
  poolMs: { mean: 0.1, max: 0.2 },
  stalls: { share: 0, count: 0, longestMs: 0, residualMs: 0, by: [] },
  routes: [],
  outbound: [
    {
      ...{
        origin: 'http://127.0.0.1:9000',
        opened: 0,
        holdsBack: false,
        rate: 1000,
        failed: 0,
        waiting: 0,
        answering: 45,
      },
      ...{ waitMs: 0, answerMs: 45, answerP50Ms: 45, answerP99Ms: 46, answerSpread: 1 },
      maxSockets: null,
    },
  ],
  output: { writes: 0, bytes: 0, share: 0 },
  threadPoolSize: null,
  maxSemiSpaceMb: null,
  resources: {},
};

const sockets = {
  looks: 5,
  server: group,
  client: group,
  listen: { waiting: 0, bound: 511 },
  outbound: [],
  timeWait: 0,
  localPorts: 28232,
};

/** Facts of a server that waits 50 ms for a service and is at 30 % of its CPU. */
export function factsOfHealthy() {
  const fixture = new URL('../fixtures/report-closed.json', import.meta.url);
  const load = JSON.parse(readFileSync(fixture, 'utf8'));
  const none = { count: 0, censored: 0, min: null, mean: null, p50: null, p99: null, max: null };
  const base = { load: { ...load, gapMs: none }, throughput: 1000, outside, inside, sockets };
  const single = { ...base, load: { ...base.load, meanInFlight: 1 }, throughput: 20 };
  const sample = { status: 200, headers: { 'content-encoding': 'gzip' }, bodyBytes: 100 };
  const unknownPath = 'http://127.0.0.1:1/none';
  const seen = { base, single, sample, unknownPath, idleShare: 0, identityBytes: 300 };
  return factsOf({ ...seen, overload: null });
}
