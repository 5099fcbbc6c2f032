import { bytes, rate, share, time } from '../../report/units.js';
import { busiest, type Facts } from '../facts.js';
import type { Range } from '../result.js';
import { freed, type Judge, times } from '../suspect.js';
import { loopEvidence, SATURATED } from './load.js';
import { busyLoop } from './loop.js';

/** What logging costs beside the write itself, which alone is measured: formatting. */
const FORMATTING = 2.5;

export const logging: Judge = (facts) => {
  const limit = 'logging';
  const { inside } = facts.base;
  if (!inside || !facts.loop) return null;
  const part = inside.output.share / Math.max(0.05, facts.loop.busy);
  const each = inside.output.writes / Math.max(1, facts.throughput);
  if (part < 0.06 || each < 0.2 || facts.loop.busy < SATURATED) {
    return { limit, why: `writing output takes ${share(part)} of the loop's time` };
  }
  return {
    limit,
    within: 'event-loop-cpu',
    weight: Math.min(0.95, 0.5 + part * 1.2),
    sentence: `logging: ${each.toFixed(1)} writes of ${bytes(inside.output.bytes / Math.max(1, inside.output.writes))} per request take ${share(part)} of the loop's time, before formatting them is counted.`,
    arithmetic: [
      `${rate(inside.output.writes)} writes a second hold the loop ${share(inside.output.share)} of the time`,
    ],
    evidence: [
      { what: 'writing output', value: inside.output.share, unit: '1', source: 'probe' },
      { what: 'writes per request', value: each, unit: 'per request', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: { ...busyLoop(facts), 'output muted': freed(part, 0.6, 1.4) },
    remedy: {
      change: 'log less, or through an asynchronous destination (a pipe, a worker thread)',
      predictedThroughput: times(withoutLog(facts, part), facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** The gain without a log: a profile knows what those format who write it; without one only their writing is known. */
function withoutLog({ spent }: Facts, part: number): Range {
  const printing = spent?.printing ?? 0;
  const { low, high } = printing > part ? freed(printing, 0.9, 1.2) : freed(part, 0.8, FORMATTING);
  return { low, high: Math.max(high, freed(spent?.printingAtMost ?? 0, 0, 1).high) };
}

/** zlib at its default level compresses text with about so many bytes a millisecond. */
const BYTES_PER_MS = { low: 15_000, high: 120_000 };

export const compression: Judge = (facts) => {
  const limit = 'compression';
  const encoding = facts.sample?.headers['content-encoding'];
  if (!facts.sample) return null;
  if (encoding === undefined || encoding === 'identity') {
    return { limit, why: 'the responses are not compressed' };
  }
  const server = facts.base.outside?.cpu.server ?? 0;
  const pool = server - (busiest(facts.base)?.main.run ?? 0);
  const busy = facts.loop && facts.loop.busy >= SATURATED;
  if (!busy && pool < 0.5)
    return { limit, why: `the server uses ${server.toFixed(2)} cores in all` };
  const body = facts.identityBytes ?? facts.sample.bodyBytes * 4;
  const cost = { low: body / BYTES_PER_MS.high, high: body / BYTES_PER_MS.low };
  const cpuMs = (server * 1000) / Math.max(1, facts.throughput);
  const part = { low: Math.min(0.8, cost.low / cpuMs), high: Math.min(0.97, cost.high / cpuMs) };
  if (part.high < 0.12) {
    return { limit, why: `compressing ${bytes(body)} is little beside ${time(cpuMs)} per request` };
  }
  const gain = { low: 1 / (1 - part.low * 0.8), high: 1 / (1 - part.high) };
  return {
    limit,
    ...(busy && { within: 'event-loop-cpu' as const }),
    weight: Math.min(0.94, 0.6 + part.low),
    sentence: `compression: each response of ${bytes(body)} is compressed (${encoding}) to ${bytes(facts.sample.bodyBytes)}.`,
    arithmetic: [
      `${bytes(body)} at the speed of zlib: ${time(cost.low)} to ${time(cost.high)} of ${time(cpuMs)} CPU per request`,
    ],
    evidence: [
      { what: 'CPU per response, all threads', value: cpuMs, unit: 'ms', source: 'proc' },
      { what: 'body before compression', value: body, unit: 'B', source: 'http' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unknown',
    predictions: {
      ...(busy && busyLoop(facts)),
      ...(facts.identityBytes !== null && { 'identity encoding': gain }),
    },
    remedy: {
      change: 'compress once and keep the result, a lower level, or let a proxy do it',
      predictedThroughput: times(gain, facts.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};
