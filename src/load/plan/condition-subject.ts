import { usageError } from '../../errors/millrace-error.js';
import { findNearest } from '../../validation/nearest.js';
import { MAX_NAMES, OTHER_REQUESTS } from '../requests/request-names.js';
import type { LoadResult } from '../result.js';
import type { ConditionTopic } from './measure.js';

/** The part of a result that conditions are about: of all requests, or of those with one name. */
export type ConditionSubject = Pick<
  LoadResult,
  'requests' | 'unfinished' | 'latencyMs' | 'serviceTimeMs'
> & {
  throughput: { mean: number };
  /** Absent by name, as connections are of the whole run. */
  connectMs?: LoadResult['connectMs'];
  tlsMs?: LoadResult['tlsMs'];
};

/** Splits a condition such as `list users: p99<50ms`: the name ends at the last `: `; `null` without one. */
export function splitConditionName(text: string): { name: string | null; condition: string } {
  const end = text.lastIndexOf(': ');
  if (end < 0) return { name: null, condition: text };
  return { name: text.slice(0, end).trim(), condition: text.slice(end + 2) };
}

/** What the names of conditions may refer to. */
export interface ConditionNames {
  /** The names of requests that are counted. */
  requests: readonly string[];
  /** All requests of the plan. */
  targets: readonly { name: string }[];
  /** The names of the scenarios; `null` without scenarios. */
  scenarios: readonly string[] | null;
}

/** Refuses a condition on what the plan does not have: a metric of scenarios, or a name. */
export function checkConditionSubject(
  { text, name, topic }: { text: string; name: string | null; topic: ConditionTopic },
  { requests, targets, scenarios }: ConditionNames,
): void {
  if (topic !== 'requests' && scenarios === null) {
    throw usageError(`'${text}': a load without a scenario has no ${topic}`);
  }
  if (name === null) return;
  const [ofRequests, ofScenarios] = [requests.includes(name), scenarios?.includes(name) ?? false];
  if (topic === 'requests' && !ofRequests)
    refuseRequestName(text, name, requests, targets, scenarios);
  if (topic === 'iterations' && !ofScenarios) {
    throw usageError(
      `'${text}': no scenario has the name '${name}'; ${describeNames(name, scenarios ?? [])}`,
    );
  }
  if (topic === 'checks' && !ofRequests && !ofScenarios) {
    const names = [...(scenarios ?? []), ...requests];
    throw usageError(
      `'${text}': no scenario or request has the name '${name}'; ${describeNames(name, names)}`,
    );
  }
}

function refuseRequestName(
  text: string,
  name: string,
  names: readonly string[],
  targets: readonly { name: string }[],
  scenarios: readonly string[] | null,
): never {
  if (targets.some((target) => target.name === name)) {
    throw usageError(
      `the requests with the name '${name}' are counted as '${OTHER_REQUESTS}', as there are more than ${MAX_NAMES} names`,
    );
  }
  const instead = scenarios?.includes(name)
    ? `it is a scenario, which has iteration.p95, iterations, checks; of requests `
    : '';
  throw usageError(
    `'${text}': no request has the name '${name}'; ${instead}${describeNames(name, names)}`,
  );
}

/** Lists the names; of many only the nearest one, or the first ones. */
function describeNames(name: string, names: readonly string[]): string {
  const quote = (one: string) => `'${one}'`;
  if (names.length <= MAX_LISTED) return `the names are ${names.map(quote).join(', ')}`;
  const nearest = findNearest(name, names);
  if (nearest) return `did you mean ${quote(nearest)}?`;
  return `the names are ${names.slice(0, MAX_LISTED).map(quote).join(', ')}, ...`;
}

const MAX_LISTED = 10;

const NONE_UNSENT = { overflow: 0, queuedAtEnd: 0, connectFailed: 0 };

/** Selects what a condition on a name is about. */
export function selectSubject(result: LoadResult, name: string | null): ConditionSubject {
  if (name === null) return result;
  const named = result.byName.find((one) => one.name === name);
  if (!named) throw usageError(`the result has no requests with the name '${name}'`);
  const { requests, unfinished, latencyMs, serviceTimeMs, throughput } = named;
  return {
    // Results that were stored by earlier versions have none.
    requests: { ...requests, followed: 0, notSent: requests.notSent ?? NONE_UNSENT },
    unfinished,
    latencyMs,
    serviceTimeMs,
    throughput: { mean: throughput },
  };
}

/** Counts the requests with an error status, a transport error, a timeout, or without a connection. */
export function countUnsuccessful({ requests }: Pick<ConditionSubject, 'requests'>): number {
  const { statusErrors, transportErrors, timeouts, notSent } = requests;
  return statusErrors + transportErrors + timeouts + notSent.connectFailed;
}
