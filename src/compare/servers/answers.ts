import { DEFAULTS } from '../../load/defaults.js';
import { measure } from '../../load/engine/measure.js';
import { withServer } from '../../load/engine/run.js';
import { Snapshots } from '../../load/engine/snapshots.js';
import type { LoadOptions } from '../../load/options.js';
import type { Plan } from '../../load/plan/plan.js';
import type { LoadResult } from '../../load/result.js';
import type { ResponseSummary } from '../differences/answer-difference.js';
import { findPath } from '../differences/plan-difference.js';
import type { LiveSide } from './sides.js';

/** The answers to one request of the mix. */
export interface RequestAnswers {
  /** Method and path. */
  request: string;
  answers: ResponseSummary[];
}

/** Number of requests of a mix that are asked for; of more of them as many, evenly spread. */
export const MAX_ASKED = 100;

/** How often each request is sent to a server: what differs between its own answers is not compared. */
const TIMES = 2;

/** A status that no server sends: the engine keeps the beginning of a response that is no success. */
const NO_STATUS = '999';

/**
 * Sends each request of the mix to a side's server, which is started for it. The engine sends them, so that they are those
 * of the load, placeholders and TLS included.
 */
export function takeAnswers(
  { load, adjustEnv }: LiveSide,
  seed: number,
): Promise<RequestAnswers[]> {
  // Requests of scenarios depend on each other.
  if (load.scenario !== undefined) return Promise.resolve([]);
  const options = { ...toSingleRequest(load), seed };
  return withServer(options, { adjustEnv }, async (plan) => {
    const taken: RequestAnswers[] = [];
    for (const index of spread(plan.native.requests.length)) {
      const { method = '', url = '' } = plan.summary.targets[index] ?? {};
      const answers: ResponseSummary[] = [];
      for (let time = 0; time < TIMES; time++) {
        const single = selectRequest(plan, index);
        const run = { options, plan: single, command: null, snapshots: new Snapshots() };
        const { result } = await measure(run);
        if (result.interrupted) throw load.signal?.reason;
        answers.push(readAnswer(result));
      }
      taken.push({ request: `${method} ${findPath(url)}`, answers });
    }
    return taken;
  });
}

function spread(requests: number): number[] {
  const asked = Math.min(requests, MAX_ASKED);
  return Array.from({ length: asked }, (_, index) => Math.floor((index * requests) / asked));
}

/** The load as one request, without its schedule. */
function toSingleRequest(load: LoadOptions): LoadOptions {
  const { rate, stages, arrivals, maxPending, duration, warmup, thinkTime, ...rest } = load;
  const { connections = DEFAULTS.openConnections } = load;
  return {
    ...rest,
    ...{ connections, pipelining: 1, requests: 1, expect: NO_STATUS, pid: false },
  };
}

function selectRequest({ native, summary, toCommand }: Plan, index: number): Plan {
  const request = native.requests[index];
  const origin = native.origins[request?.origin ?? 0];
  const one = { connections: 1, initialConnections: 1, threads: 1 };
  const targets = summary.targets.slice(index, index + 1);
  return {
    native: {
      ...native,
      ...one,
      requests: request ? [{ ...request, origin: 0, name: 0 }] : [],
      names: 1,
      origins: origin ? [origin] : [],
      weighted: false,
    },
    summary: { ...summary, ...one, targets },
    names: targets.map(({ name }) => name),
    buckets: 0,
    conditions: [],
    abortConditions: [],
    toCommand,
    hooks: [],
    data: undefined,
    startAtMs: null,
  };
}

function readAnswer({ failingResponses, errors, bytes }: LoadResult): ResponseSummary {
  const [response] = failingResponses;
  const error = response?.error ?? errors[0]?.kind ?? null;
  const { head = '', body = '', bodyTruncated = false, status = null } = response ?? {};
  const field = (name: string) =>
    new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(head)?.[1]?.trim() ?? null;
  const isText = !/^\(\d+ bytes that are no text\)$/.test(body);
  const length = field('content-length');
  const isKnown = length !== null || (isText && !bodyTruncated);
  const counted = bodyTruncated || !isText ? bytes.received - head.length : Buffer.byteLength(body);
  return {
    status,
    error: response ? error : (error ?? 'none'),
    contentType: field('content-type'),
    contentEncoding: field('content-encoding'),
    contentBytes: length === null ? counted : Number(length),
    isAbout: !isKnown,
    text: isText ? body : null,
    isWhole: !bodyTruncated,
  };
}
