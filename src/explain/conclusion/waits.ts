import type { Findings } from '../findings.js';
import type { LimitId } from '../limit-ids.js';
import type { Metrics } from '../metrics/types.js';
import type { Waits } from '../result.js';
import type { Queue } from '../waits/wait-names.js';
import type { WaitPath } from '../waits/wait-paths.js';
import { buildWaits, countInHandlers, type ObservedWaits } from '../waits/waits-graph.js';
import { deriveRequestBreakdown } from './request-breakdown.js';

/** Builds the graph of waits for the population that is reported; `null` if no waits were observed. */
export function concludeWaits({ metrics, waits }: Findings): Waits | null {
  const routes = metrics.base.inside?.routes ?? [];
  return waits && buildWaits(waits, deriveRequestBreakdown(metrics), routes);
}

/** Minimum share of the requests in flight that wait in handlers at which these waits are worth observing. */
const MIN_WAITING_SHARE = 0.02;

/** Whether requests wait in handlers. */
export function isWaitingInHandlers(metrics: Metrics): boolean {
  return computeWaitingShare(metrics) > MIN_WAITING_SHARE;
}

/** Whether more requests wait in handlers than are elsewhere. */
export function isMostlyWaitingInHandlers(metrics: Metrics): boolean {
  return computeWaitingShare(metrics) > 0.5;
}

function computeWaitingShare(metrics: Metrics): number {
  const waiting = countInHandlers(deriveRequestBreakdown(metrics));
  return waiting / Math.max(1, metrics.maxConcurrency);
}

type IsWaitOfLimit = (path: WaitPath) => boolean;

const isForAnswer: IsWaitOfLimit = ({ source: { kind, phase } }) =>
  phase === 'answer' && (kind === 'http' || kind === 'socket' || kind === 'promise');

/** Recognizes the waits that a limit causes. */
const WAITS_OF: Partial<Record<LimitId, IsWaitOfLimit>> = {
  serialized: ({ source: { kind, phase }, queue }) =>
    kind === 'promise' && phase !== 'answer' && queue?.kind !== 'pool',
  // A pool of the service's own is known as a promise only; a known lock is no pool.
  'outbound-pool': ({ source: { kind, phase }, queue }) =>
    phase === 'connection' || (kind === 'promise' && phase === '' && queue?.kind !== 'lock'),
  'saturated-dependency': isForAnswer,
  'slow-dependency': isForAnswer,
};

/** The queue that limits the service, by what requests wait for. */
export interface WaitQueue {
  limit: 'outbound-pool' | 'serialized';
  /** Of what the queue is: a pool, a limiter, a lock. */
  of: string;
  /** Share of the waiting requests that are in it. */
  share: number;
}

/** Finds the queue in which most of the waiting requests are; `null` if they are not in a known one. */
export function findWaitQueue({ paths }: ObservedWaits): WaitQueue | null {
  const sums = new Map<string, { queue: Queue; ms: number }>();
  let total = 0;
  for (const { ms, queue } of paths) {
    total += ms;
    if (!queue) continue;
    const known = sums.get(queue.name) ?? { queue, ms: 0 };
    known.ms += ms;
    sums.set(queue.name, known);
  }
  const [most] = [...sums.values()].sort((a, b) => b.ms - a.ms);
  if (!most || most.ms < MIN_QUEUED_SHARE * total) return null;
  return {
    limit: most.queue.kind === 'pool' ? 'outbound-pool' : 'serialized',
    of: most.queue.name,
    share: most.ms / total,
  };
}

/** Minimum share of the waiting requests that are in a queue which limits the service. */
const MIN_QUEUED_SHARE = 0.5;

/** Minimum share of the waiting requests at which a line is named. */
const MIN_SHARE = 0.3;

/** Says where the requests wait, to be added to a remedy: `; the requests wait in takeLock (store.js:12)`; may be empty. */
export function formatWaitPlace(limit: LimitId, waits: ObservedWaits | null): string {
  const place = describeWaitPlace(limit, waits);
  return place ? `; the requests wait ${place}` : '';
}

/** Describes where in the service's code requests wait because of a limit: `in takeLock (store.js:12)`. */
export function describeWaitPlace(limit: LimitId, waits: ObservedWaits | null): string | null {
  const isMeant = WAITS_OF[limit];
  if (!waits || !isMeant) return null;
  const places = new Map<string, number>();
  let total = 0;
  for (const path of waits.paths) {
    total += path.ms;
    const inner = path.frames.findLast(({ origin }) => origin === 'application');
    if (!inner || !isMeant(path)) continue;
    const place =
      inner.name === '(anonymous)' ? `at ${inner.place}` : `in ${inner.name} (${inner.place})`;
    places.set(place, (places.get(place) ?? 0) + path.ms);
  }
  const [heaviest] = [...places].sort(([, a], [, b]) => b - a);
  return heaviest && heaviest[1] >= MIN_SHARE * total ? heaviest[0] : null;
}
