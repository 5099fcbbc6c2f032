// The rules by which clinic doctor classifies a Node process (v11), for comparison. Left out is what it
// concludes from the number of active handles. Where it guesses when the load began and ended, it is told.

/** Shares of a core below which it takes the CPU for idle. */
const BUSY = 0.9;
const DELAY_MEDIAN_MS = 10;
const DELAY_MAX_MS = 100;
const UTILISATION_MEDIAN = 0.95;
const GC_MS_IN_A_SECOND = 100;
const FEWEST_SAMPLES = 4;

/**
 * What doctor would say of a process.
 *
 * @param samples `{ tMs, delayMs, cpu, utilization }` every 10 ms: delay of a timer, cores used since the last one, and
 *   event loop utilization, which it takes since the start of the process
 * @param collections `{ tMs, ms }` of each collection of garbage that stopped the process
 * @returns `performance` (no issue), `gc`, `event-loop`, `io`, or `unknown`
 */
export function diagnose(samples, collections) {
  if (samples.length < FEWEST_SAMPLES) return 'unknown';
  const delays = samples.map(({ delayMs }) => delayMs);
  return category({
    memory: mostInASecond(collections) >= GC_MS_IN_A_SECOND,
    delay: quantile(delays, 0.5) >= DELAY_MEDIAN_MS || Math.max(...delays) >= DELAY_MAX_MS,
    utilization:
      quantile(
        samples.map((one) => one.utilization),
        0.5,
      ) >= UTILISATION_MEDIAN,
    cpu: quantile(ofApplication(samples.map(({ cpu }) => cpu)), 0.9) < BUSY,
    handles: false,
  });
}

/** Its table from issues to a category; an idle CPU counts as an issue. */
export function category({ memory, delay, utilization, cpu, handles }) {
  if (memory && !cpu && !handles) return 'gc';
  if (!memory && (delay || utilization) && !cpu && !handles) return 'event-loop';
  if (!memory && !delay && (cpu || handles)) return 'io';
  if (!memory && !delay && !utilization && !cpu && !handles) return 'performance';
  return 'unknown';
}

/** The most milliseconds of collections that began within one second. */
function mostInASecond(collections) {
  let most = 0;
  let sum = 0;
  let first = 0;
  for (const { tMs, ms } of collections) {
    sum += ms;
    while (tMs - collections[first].tMs >= 1000) sum -= collections[first++].ms;
    most = Math.max(most, sum);
  }
  return most;
}

/**
 * The samples of the application alone: if the CPU has two states that are well apart, the upper one is taken for the
 * compiler's. Doctor fits a hidden Markov model; here the states are those of a mixture of two normal distributions.
 */
function ofApplication(cpu) {
  const [low, high] = twoStates(cpu);
  const apart = Math.abs(low.mean - high.mean) / (2 * (low.deviation + high.deviation));
  if (!(apart >= 1)) return cpu;
  const own = cpu.filter((value) => density(value, low) >= density(value, high));
  return own.length > 0 ? own : cpu;
}

/** Means, deviations and weights of the two states, the lower one first, by expectation maximization. */
function twoStates(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.ceil(sorted.length / 2);
  let states = [sorted.slice(0, half), sorted.slice(half)].map((own) =>
    fitted(own, () => 1, values.length),
  );
  for (let round = 0; round < 30; round++) {
    const [low, high] = states;
    const ofLow = (value) => {
      const [a, b] = [density(value, low), density(value, high)];
      return a + b > 0 ? a / (a + b) : 0.5;
    };
    states = [
      fitted(values, ofLow, values.length),
      fitted(values, (value) => 1 - ofLow(value), values.length),
    ];
  }
  return states.toSorted((a, b) => a.mean - b.mean);
}

/** A normal distribution for values of which each belongs to it with a weight. */
function fitted(values, weightOf, count) {
  let [weight, sum, squares] = [0, 0, 0];
  for (const value of values) {
    const own = weightOf(value);
    weight += own;
    sum += own * value;
    squares += own * value * value;
  }
  const mean = weight > 0 ? sum / weight : 0;
  const variance = weight > 0 ? squares / weight - mean * mean : 0;
  return {
    mean,
    deviation: Math.max(1e-3, Math.sqrt(Math.max(0, variance))),
    share: weight / count,
  };
}

function density(value, { mean, deviation, share }) {
  return (share / deviation) * Math.exp(-((value - mean) ** 2) / (2 * deviation ** 2));
}

function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
