import { plural } from '../../format/units.js';
import type { PlanSummary } from '../../load/result.js';
import { describeValue } from '../../validation/shape.js';

/** What two runs of the same load need not share: where the servers are, and what is read elsewhere. */
const NOT_COMPARED = new Set(['targets', 'addresses', 'command', 'seed']);

/**
 * Finds the first setting in which two loads differ, in words; `null`: none. Hosts and ports may differ, as a server that
 * is started anew has another port.
 */
export function findPlanDifference(
  a: Partial<PlanSummary>,
  b: Partial<PlanSummary>,
): string | null {
  const names = Object.keys(a).filter((name) => !NOT_COMPARED.has(name));
  for (const name of names) {
    const [of, other] = [a, b].map((plan) => plan[name as keyof PlanSummary]);
    // A version that did not have the setting yet does not tell it.
    if (of === undefined || other === undefined) continue;
    if (JSON.stringify(of) !== JSON.stringify(other)) {
      return `${name} is ${describeValue(of)} in A, ${describeValue(other)} in B`;
    }
  }
  return findTargetDifference(a.targets ?? [], b.targets ?? []);
}

type Targets = PlanSummary['targets'];

function findTargetDifference(a: Targets, b: Targets): string | null {
  if (a.length !== b.length)
    return `${plural(a.length, 'target')} in A, ${plural(b.length, 'target')} in B`;
  for (const [index, target] of a.entries()) {
    const other = b[index];
    if (!other) continue;
    const [of, in_] = [target, other].map(describeTarget);
    if (of !== in_) return `a target is ${of} in A, ${in_} in B`;
  }
  return null;
}

function describeTarget({ method, url, weight, bodyBytes }: Targets[number]): string {
  const body = bodyBytes > 0 ? ` with ${bodyBytes} bytes` : '';
  const share = weight === null ? '' : ` of weight ${weight}`;
  return `${method} ${findPath(url)}${body}${share}`;
}

/** The path of a URL as it is shown in a plan, of a Unix socket's too. */
export function findPath(url: string): string {
  return /^(?:unix:[^:]*:|\w+:\/\/[^/]*)(.*)$/.exec(url)?.[1] || url;
}
