import { count, rate, share, time } from '../../report/units.js';
import { bearsRate, type Facts, halved, openingShare, working } from '../facts.js';
import type { Range } from '../result.js';
import { about, freed, type Judge, times } from '../suspect.js';
import { slowedByDelay } from './calls.js';
import { loopEvidence, SATURATED } from './load.js';
import { busyLoop } from './loop.js';

/** The kernels' timers of a delayed acknowledgement: where a gap of a response lies if it waits for one. */
const DELAYED_ACK_MS = [
  [36, 48],
  [190, 216],
] as const;

export function isDelayedAck(gapMs: number): boolean {
  return DELAYED_ACK_MS.some(([low, high]) => gapMs >= low && gapMs <= high);
}

export const nagleDelayedAck: Judge = (facts) => {
  const limit = 'nagle-delayed-ack';
  const { load } = facts.base;
  const { gapMs } = load;
  const completed = load.requests.ok + load.requests.statusErrors;
  const typical = gapMs.p50 ?? 0;
  const part = gapMs.count / Math.max(1, completed);
  const waited = (typical * part) / Math.max(0.01, facts.responseMs);
  if (!isDelayedAck(typical) || waited < 0.2) {
    return {
      limit,
      why: `${time(gapMs.count > 0 ? typical : 0)} lie between the first and the last byte of a response`,
    };
  }
  const without = Math.max(0.2, facts.responseMs - typical * part);
  const single = facts.singleMs;
  const cpu = facts.loop?.cpuMs ?? 0;
  const roof = cpu > 0 ? 1000 / cpu : Number.POSITIVE_INFINITY;
  const then = Math.min((facts.slots * 1000) / without, roof);
  return {
    limit,
    weight: isHeldSeen(facts, waited) ? 0.99 : untriedWeight(facts),
    sentence: `a timer of TCP: ${time(typical)} of ${time(facts.responseMs)} lie between the first and the last byte; the server holds its second part back (Nagle) until the first is acknowledged, which the client delays.`,
    arithmetic: [
      `${share(part)} of the responses come in parts, ${time(typical)} apart: the delayed acknowledgement of ${typical > 100 ? 200 : 40} ms`,
      `${count(facts.slots)} / ${time(facts.latencyMs)} = ${rate((facts.slots * 1000) / facts.latencyMs)} req/s, measured ${rate(facts.throughput)}`,
      ...(single ? [`alone a request takes ${time(single)}: it is no queue`] : []),
    ],
    evidence: [
      { what: 'gap within a response, median', value: typical, unit: 'ms', source: 'load' },
      { what: 'responses in parts', value: part, unit: '1', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      'connections x2': { low: 1.6, high: 2.1 },
      'connections /2': halved(facts, { low: 0.84, high: 1.24 }),
      // From there up to what the loop can give, whose time per request is not that of these few.
      'early acknowledgement': {
        low: Math.max(1.3, (0.3 * then) / facts.throughput),
        high: (facts.slots * 1000) / 0.05 / facts.throughput,
      },
      ...slowedByDelay(facts),
    },
    remedy: {
      change:
        'setNoDelay(true) on the server (the default of node:http since 18), or head and body in one write: end(body), cork()',
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: then === roof ? 'event-loop-cpu' : 'too-few-connections',
    },
  };
};

/** Where the experiment cannot be made, parts that come late by themselves look the same: of a rate that is borne nothing else tells either. */
function untriedWeight({ base, model }: Facts): number {
  if (model === 'open' && bearsRate(base)) return 0.4;
  return base.load.plan.connection === 'close' ? 0.6 : 0.99;
}

/** Whether so many of the server's sockets hold bytes as there are responses that wait for an acknowledgement. */
function isHeldSeen({ sockets, inFlight }: Facts, waited: number): boolean {
  const server = sockets?.server;
  return server !== undefined && server.unsent * server.sockets >= 0.5 * inFlight * waited;
}

/** A write to a socket in Node: the loop's time for it, ms (5 to 6 µs on current machines, more with TLS). */
const WRITE_MS = 0.006;

export const manyWrites: Judge = (facts) => {
  const limit = 'many-writes';
  const written = working(facts.base).map(({ calls }) => calls?.writes ?? Number.NaN);
  const writes = written.reduce((sum, one) => sum + one, 0);
  if (written.length === 0 || Number.isNaN(writes) || !facts.loop) return null;
  const each = writes / Math.max(1, facts.throughput);
  const logged = (facts.base.inside?.output.writes ?? 0) / Math.max(1, facts.throughput);
  // Questions to databases and calls to others are written to sockets, too.
  const asked = (facts.base.inside?.outbound ?? []).reduce((sum, call) => sum + call.rate, 0);
  const toSockets = each - logged - asked / Math.max(1, facts.throughput);
  // All of them together take no more than there is.
  const writeMs = Math.min(WRITE_MS, facts.loop.cpuMs / Math.max(1, toSockets));
  const part = ((toSockets - 1) * writeMs) / Math.max(1e-6, facts.loop.cpuMs);
  const inParts = facts.base.load.gapMs.count / Math.max(1, facts.base.load.requests.ok);
  if (toSockets < 1.6 || facts.loop.busy < SATURATED || part < 0.12) {
    return { limit, why: `${toSockets.toFixed(1)} writes per response` };
  }
  return {
    limit,
    within: 'event-loop-cpu',
    weight: Math.min(0.95, 0.5 + part),
    sentence: `many writes: ${toSockets.toFixed(1)} system calls write each response, and the loop is ${share(facts.loop.busy)} busy.`,
    arithmetic: [
      `${(toSockets - 1).toFixed(1)} writes more than one x about ${time(writeMs)} = ${time((toSockets - 1) * writeMs)} of ${time(facts.loop.cpuMs)} per request`,
    ],
    evidence: [
      { what: 'writes per response', value: toSockets, unit: 'calls', source: 'proc' },
      { what: 'responses in parts', value: inParts, unit: '1', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: { ...busyLoop(facts), 'writes corked': freed(Math.min(0.9, part), 0.4, 3) },
    remedy: {
      change:
        'one write per response: collect the parts (cork(), end(body)), or pipe larger chunks',
      predictedThroughput: times(inOneWrite(facts, toSockets, part), facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** The gain of one write per response. A profile sees what the others cost: most of it above the system call. */
function inOneWrite({ spent }: Facts, writes: number, part: number): Range {
  const others = (writes - 1) / writes;
  return spent && spent.writing * others > part
    ? freed(spent.writing * others, 0.9, 1.1)
    : freed(Math.min(0.9, part), 0.8, 1.15);
}

/** What accepting and closing a connection costs a loop in Node, ms. */
const CONNECTION_MS = { low: 0.02, high: 0.15 };

export const connectionChurn: Judge = (facts) => {
  const limit = 'connection-churn';
  const { plan, connections, requests } = facts.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = connections.opened / completed;
  if (each < 0.5) return { limit, why: `${each.toFixed(2)} connections per request` };
  if (connections.tlsFull / completed > 0.5) {
    return { limit, why: 'the handshakes of TLS weigh more: see tls-handshake' };
  }
  const byClient = plan.connection === 'close';
  const cpuMs = facts.loop?.cpuMs ?? 0;
  const part = cpuMs > 0 ? Math.min(0.95, CONNECTION_MS.high / cpuMs) : 0.3;
  const least = cpuMs > 0 ? Math.min(0.5, CONNECTION_MS.low / cpuMs) : 0.05;
  const connectMs = facts.base.load.connectMs.mean ?? 0;
  const waits = connectMs / Math.max(0.01, facts.responseMs + connectMs);
  const busy = facts.loop !== null && facts.loop.busy >= SATURATED;
  if (!busy && waits < 0.15) {
    return {
      limit,
      why: `a connection for each request, but ${time(connectMs)} of ${time(facts.responseMs)} go to it`,
    };
  }
  if (busy && part < 0.12)
    return { limit, why: `a connection costs little beside ${time(cpuMs)} per request` };
  const gain = busy
    ? { low: 1 / (1 - least), high: 1 / (1 - part) }
    : about((facts.responseMs + connectMs) / facts.responseMs, 0.25);
  return {
    limit,
    ...(busy && { within: 'event-loop-cpu' as const }),
    weight: 0.93,
    sentence: `connections: each request has one of its own${byClient ? '' : ', as the server ends them'}; ${busy ? `to open, accept and close it takes part of ${time(cpuMs)} per request` : `to open it takes ${time(connectMs)} of ${time(facts.responseMs + connectMs)}`}.`,
    arithmetic: [
      `${count(connections.opened)} connections for ${count(completed)} requests`,
      `a connection costs the loop ${time(CONNECTION_MS.low)} to ${time(CONNECTION_MS.high)} of ${time(cpuMs)}`,
    ],
    evidence: [
      { what: 'connections per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time to connect', value: connectMs, unit: 'ms', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: {
      ...(busy && busyLoop(facts)),
      ...(byClient && { 'keep-alive': gain }),
      // A server may end connections on some paths, and keep them on others.
      'unknown path': { low: 0.85, high: byClient ? 1 / Math.max(0.05, least) : 1000 },
    },
    remedy: {
      change: byClient
        ? 'keep-alive: clients (proxies, agents) that use a connection again'
        : 'let the server keep connections: no Connection: close, a longer keepAliveTimeout, no maxRequestsPerSocket',
      predictedThroughput: times(gain, facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** CPU time of a full handshake on the server, ms: ECDSA P-256 to RSA 2048 and beyond. */
const HANDSHAKE_MS = { low: 0.15, high: 3 };

export const tlsHandshake: Judge = (facts) => {
  const limit = 'tls-handshake';
  const { plan, connections, requests, tlsMs } = facts.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = (connections.tlsFull + connections.tlsResumed) / completed;
  if (plan.tls === null) return { limit, why: 'no TLS' };
  if (each < 0.3) return { limit, why: `${each.toFixed(2)} handshakes per request` };
  const cpuMs = facts.loop?.cpuMs ?? 1;
  const busy = facts.loop !== null && facts.loop.busy >= SATURATED;
  const opening = openingShare(facts);
  if (!busy && opening < 0.15) {
    return { limit, why: `${share(opening)} of the time of a request goes to its handshake` };
  }
  if (busy && (each * HANDSHAKE_MS.high) / cpuMs < 0.12) {
    return { limit, why: `a handshake is little beside ${time(cpuMs)} of CPU per request` };
  }
  const part = {
    low: Math.min(0.6, (each * HANDSHAKE_MS.low) / cpuMs),
    // What is left of a request may be a hundredth of it.
    high: Math.min(0.99, (each * HANDSHAKE_MS.high) / cpuMs),
  };
  const gain = busy
    ? { low: 1 / (1 - part.low * 0.8), high: 1 / (1 - part.high) }
    : about(1 / (1 - opening), 0.25);
  return {
    limit,
    ...(busy && { within: 'event-loop-cpu' as const }),
    weight: 0.96,
    sentence: `handshakes of TLS: ${share(each)} of the requests have one; they are part of ${time(cpuMs)} of CPU per request.`,
    arithmetic: [
      `${count(connections.tlsFull)} full and ${count(connections.tlsResumed)} resumed handshakes for ${count(completed)} requests, ${time(tlsMs.mean ?? 0)} each`,
    ],
    evidence: [
      { what: 'handshakes per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time of a handshake', value: tlsMs.mean ?? 0, unit: 'ms', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: {
      ...(busy && busyLoop(facts)),
      'tls kept': gain,
      'unknown path': { low: 0.85, high: 1 / part.low },
    },
    remedy: {
      change: 'keep connections, resume sessions (tickets), or an ECDSA certificate instead of RSA',
      predictedThroughput: times(gain, facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const fdLimit: Judge = (facts) => {
  const limit = 'fd-limit';
  const { load, outside } = facts.base;
  const own = load.errors.find(({ kind }) => kind === 'fd-limit');
  if (own) {
    return {
      limit,
      weight: 1,
      sentence: `this process may open no more files: ${count(own.count)} connections could not be made.`,
      arithmetic: ['see ulimit -n, where the load is made'],
      evidence: [
        {
          what: 'connections refused by the limit',
          value: own.count,
          unit: 'connections',
          source: 'load',
        },
      ],
      otherwise: 'unknown',
      predictions: {},
      remedy: {
        change: 'ulimit -n higher, for the generator',
        predictedThroughput: null,
        nextLimit: null,
      },
    };
  }
  const full = outside?.processes.find(
    ({ openFiles, fileLimit }) =>
      openFiles !== null && fileLimit !== null && openFiles >= fileLimit - 3,
  );
  if (!full?.fileLimit) {
    const [most] = [...(outside?.processes ?? [])].sort(
      (a, b) => (b.openFiles ?? 0) - (a.openFiles ?? 0),
    );
    return {
      limit,
      why: most?.openFiles
        ? `${most.openFiles} of ${most.fileLimit ?? '?'} files open`
        : 'no connection failed for it',
    };
  }
  return {
    limit,
    weight: 1,
    sentence: `open files: the server has ${count(full.openFiles ?? 0)} of the ${count(full.fileLimit)} that it may have; further connections are dropped without a word.`,
    arithmetic: [
      `${count(full.fileLimit)} - those of its own = about ${count(Math.max(0, full.fileLimit - 20))} connections at once; asked for ${count(load.plan.connections)}`,
    ],
    evidence: [{ what: 'open files', value: full.openFiles ?? 0, unit: 'files', source: 'proc' }],
    otherwise: 'unknown',
    predictions: {},
    remedy: {
      change: `a higher limit (ulimit -n, LimitNOFILE): at least ${count(load.plan.connections + 50)}`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

export const listenBacklog: Judge = (facts) => {
  const limit = 'listen-backlog';
  const overflows = facts.base.outside?.network.listenOverflows ?? 0;
  const { connectMs, connections, errors } = facts.base.load;
  const listen = facts.sockets?.listen;
  const late = (connectMs.p99 ?? 0) > 900 || errors.some(({ kind }) => kind === 'connect-timeout');
  const full = listen?.bound ? listen.waiting >= listen.bound : false;
  if (!(overflows > 0 && (late || full)) && !(late && full)) {
    return {
      limit,
      why: `connects take ${time(connectMs.p99 ?? 0)} at p99, the queue of the listening socket overflowed ${overflows === 0 ? 'never' : `${rate(overflows)} times a second`}`,
    };
  }
  return {
    limit,
    weight: 0.97,
    sentence: `the queue of connections to be accepted is full${listen?.bound ? ` (${listen.bound})` : ''}: connects are dropped and repeated after a second.`,
    arithmetic: [
      `${rate(overflows)} connects a second are dropped; a connect takes ${time(connectMs.p50 ?? 0)} (median), ${time(connectMs.p99 ?? 0)} (p99), its retries come after 1, 3, 7 s`,
    ],
    evidence: [
      { what: 'connects dropped', value: overflows, unit: '1/s', source: 'proc' },
      { what: 'time to connect, p99', value: connectMs.p99 ?? 0, unit: 'ms', source: 'load' },
    ],
    otherwise: 'unknown',
    predictions: {
      ...(facts.base.load.plan.connection === 'close' && {
        'keep-alive': { low: 1.5, high: 1000 },
      }),
    },
    remedy: {
      change:
        'a larger backlog (listen(port, host, backlog), net.core.somaxconn), keep-alive, or a loop that is not blocked for so long',
      predictedThroughput: connections.opened > 0 ? withoutRetries(facts) : null,
      nextLimit: 'accept-rate',
    },
  };
};

/** Throughput if no connect has to be repeated: each takes what the median does, and the request at best what its median does. */
function withoutRetries({ base, slots, throughput, responseMs }: Facts): Range {
  const { connectMs, latencyMs } = base.load;
  const connect = connectMs.p50 ?? 0;
  const best = connect + (latencyMs.p50 ?? responseMs);
  const each = connect + Math.max(responseMs, latencyMs.p50 ?? 0);
  return {
    low: Math.max(throughput, (slots * 1000) / Math.max(0.1, each)),
    high: Math.max(throughput, (slots * 1000) / Math.max(0.1, best)),
  };
}

export const acceptRate: Judge = (facts) => {
  const limit = 'accept-rate';
  const { load, inside } = facts.base;
  const seconds = load.durationMs / 1000;
  const opened = load.connections.opened / seconds;
  if (!inside?.loops || !facts.loop) return null;
  if (load.connections.opened < 3 * load.plan.connections) {
    return { limit, why: 'connections are kept' };
  }
  const perLoop = opened / inside.loops;
  const queue = facts.sockets?.listen?.waiting ?? 0;
  if (perLoop < 0.7 || perLoop > 1.5 || queue < 2 || facts.loop.busy < SATURATED) {
    return {
      limit,
      why: `${rate(opened)} connections a second, ${rate(inside.loops)} turns of the loop`,
    };
  }
  return {
    limit,
    within: 'event-loop-cpu',
    weight: 0.9,
    sentence: `one new connection per turn of the loop: ${rate(opened)} a second in ${rate(inside.loops)} turns; ${count(queue)} wait to be accepted.`,
    arithmetic: [
      `${rate(inside.loops)} turns a second x 1 = ${rate(inside.loops)} connections a second at most`,
    ],
    evidence: [
      { what: 'turns of the loop', value: inside.loops, unit: '1/s', source: 'probe' },
      { what: 'connections opened', value: opened, unit: '1/s', source: 'load' },
      { what: 'waiting to be accepted', value: queue, unit: 'connections', source: 'sockets' },
    ],
    otherwise: 'unknown',
    predictions: {
      ...busyLoop(facts),
      ...(load.plan.connection === 'close' && { 'keep-alive': { low: 1.05, high: 100 } }),
    },
    remedy: {
      change: 'keep-alive, shorter turns of the loop, or more processes',
      predictedThroughput: null,
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const headOfLine: Judge = (facts) => {
  const limit = 'head-of-line';
  const { plan, latencyMs } = facts.base.load;
  if (plan.pipelining < 2) return { limit, why: 'one request at a time on each connection' };
  if (facts.loop && facts.loop.busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(facts.loop.busy)} busy` };
  }
  const alone = facts.singleMs;
  if (!alone || facts.responseMs < 1.3 * alone) {
    return { limit, why: `a request takes ${time(facts.responseMs)}, alone ${time(alone)}` };
  }
  return {
    limit,
    weight: 0.9,
    sentence: `head of line: ${plan.pipelining} requests share a connection, and each answer waits for the slowest before it: ${time(facts.responseMs)} instead of ${time(alone)}.`,
    arithmetic: [
      `${count(facts.slots)} in flight / ${time(facts.responseMs)} = ${rate((facts.slots * 1000) / facts.responseMs)} req/s; in ${time(alone)} each it would be ${rate((facts.slots * 1000) / alone)}`,
    ],
    evidence: [
      { what: 'response time, median', value: latencyMs.p50 ?? 0, unit: 'ms', source: 'load' },
      { what: 'alone', value: alone, unit: 'ms', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      // Which requests share a connection changes with their number.
      'connections x2': { low: 1.5, high: 2.7 },
      'connections /2': halved(facts, { low: 0.74, high: 1.33 }),
      'depth 1': about(facts.responseMs / alone, 0.3),
      ...slowedByDelay(facts),
    },
    remedy: {
      change: `depth 1 on ${count(facts.slots)} connections, or HTTP/2`,
      predictedThroughput: times(about(facts.responseMs / alone, 0.25), facts.throughput),
      nextLimit: 'too-few-connections',
    },
  };
};
