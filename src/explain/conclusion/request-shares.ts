import { share } from '../../format/units.js';
import { deriveRequestName } from '../../load/requests/request-names.js';
import type { LoadResult } from '../../load/result.js';
import type { Metrics } from '../metrics/types.js';
import type { RequestShare } from '../result.js';

/**
 * Derives what the requests with each name take of the response times and of the event loop: the name that takes most
 * first. Empty where the load has one name only.
 */
export function deriveRequestShares({ base }: Pick<Metrics, 'base'>): RequestShare[] {
  const { load, inside } = base;
  if (load.byName.length < 2) return [];
  const loopTimes = sumLoopTimes(load, inside?.routes ?? []);
  const loopTotal = sum([...loopTimes.values()]);
  const shares = load.byName.map(({ name, requests, timeShare, serviceTimeMs }) => ({
    name,
    requestShare: requests.sent / Math.max(1, load.requests.sent),
    timeShare,
    loopShare: loopTotal > 0 ? (loopTimes.get(name) ?? 0) / loopTotal : null,
    p50Ms: serviceTimeMs.p50,
    p99Ms: serviceTimeMs.p99,
  }));
  return shares.sort((one, other) => weigh(other) - weigh(one));
}

/** What a name takes: where requests wait for the loop, all response times are alike and the loop's time tells. */
function weigh({ timeShare, loopShare }: RequestShare): number {
  return Math.max(timeShare ?? 0, loopShare ?? 0);
}

/** Minimum share of the time, and minimum ratio of it to the share of the requests, at which a name stands out. */
const [MIN_HEAVY_SHARE, MIN_HEAVY_RATIO] = [0.4, 1.5];

/**
 * Describes the name that takes most of the time although it has a smaller part of the requests; `null` if none stands
 * out. Where the loop is busy its time counts, as all requests wait for it alike.
 */
export function describeHeaviestRequest(
  shares: RequestShare[],
  isLoopBusy: boolean,
): string | null {
  const read = ({ loopShare, timeShare }: RequestShare) =>
    (isLoopBusy ? loopShare : null) ?? timeShare ?? 0;
  const [first] = shares.toSorted((one, other) => read(other) - read(one));
  if (!first || read(first) < MIN_HEAVY_SHARE) return null;
  if (read(first) < MIN_HEAVY_RATIO * first.requestShare) return null;
  const what =
    isLoopBusy && first.loopShare !== null ? "handlers' time on the loop" : 'response times';
  return `most of it is ${first.name}: ${share(read(first))} of the ${what}, ${share(first.requestShare)} of the requests`;
}

/** Sums the synchronous time of the routes of each name. A route that has several names is none's. */
function sumLoopTimes(
  { plan }: LoadResult,
  routes: readonly { route: string; syncShare: number }[],
): Map<string, number> {
  const namesOf = new Map<string, Set<string>>();
  for (const { name, method, url } of plan.targets) {
    const route = deriveRequestName(method, readPath(url));
    namesOf.set(route, (namesOf.get(route) ?? new Set()).add(name));
  }
  const times = new Map<string, number>();
  for (const { route, syncShare } of routes) {
    const [name, ...others] = namesOf.get(route) ?? [];
    if (name === undefined || others.length > 0) continue;
    times.set(name, (times.get(name) ?? 0) + syncShare);
  }
  return times;
}

/** Reads the path of a URL, which may contain placeholders. */
function readPath(url: string): string {
  return url.replace(/^(?:https?:\/\/[^/?]*|unix:[^:]*:)/, '') || '/';
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
