/** Estimates the cores that the generator uses for requests. */
export function estimateGeneratorCores({ self }: { self: number }, throughput: number): number {
  return Math.min(self, (throughput * MAX_GENERATOR_MS) / 1000);
}

/** Maximum CPU time of the generator per request, ms; the rest of its time is the fixed cost of observing. */
const MAX_GENERATOR_MS = 0.01;
