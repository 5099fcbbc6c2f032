import type { NativeFlows, NativeStep } from '../../native/addon.js';

/** Counts the requests of an iteration, at most: of the longest scenario, with all of its conditions and redirections. */
export function countRequestsOfIteration({ scenarios }: NativeFlows): number {
  return Math.max(0, ...scenarios.map(({ steps, follow }) => countRequests(steps) * (1 + follow)));
}

function countRequests(steps: readonly NativeStep[]): number {
  return steps.reduce((sum, { request, repeat, when }) => {
    if (request) return sum + 1;
    if (repeat) return sum + repeat.count * countRequests(repeat.steps);
    return sum + countRequests(when?.steps ?? []);
  }, 0);
}
