/**
 * The models of throughput over connections. Parameters that must be positive are stored as logarithms, which keeps bounds
 * and intervals simple.
 */
export type CurveName = 'bounds' | 'mva' | 'amdahl' | 'usl';

/** Quantities derived from the parameters of a curve, as logarithms; rates per second, times in seconds. */
export interface CurveQuantities {
  logSingle: number;
  logMaxThroughput: number;
  logKnee: number;
}

/** A model of throughput over connections. */
export interface Curve {
  name: CurveName;
  low: readonly number[];
  high: readonly number[];
  /** Estimates the parameters from the response time of a single request and the highest measured throughput. */
  initialGuess: (singleSeconds: number, maxThroughput: number) => number[];
  /** Computes the logarithm of the throughput at ascending numbers of connections. */
  logThroughput: (parameters: readonly number[], connections: readonly number[]) => number[];
  quantities: (parameters: readonly number[]) => CurveQuantities;
}

/** Parameters of the curves with a plateau: the logarithms of its throughput and of the knee, which is at least 1. */
const PLATEAU = {
  low: [-30, 0],
  high: [30, 25],
  initialGuess: (singleSeconds: number, maxThroughput: number) => [
    Math.log(maxThroughput),
    Math.max(0.1, Math.log(maxThroughput * singleSeconds)),
  ],
  quantities: ([c = 0, k = 0]: readonly number[]) => ({
    logSingle: k - c,
    logMaxThroughput: c,
    logKnee: k,
  }),
};

/** Asymptotic bounds (Denning and Buzen 1978): X = min(N / R0, C). They are exact if no request waits before the knee. */
const bounds: Curve = {
  name: 'bounds',
  ...PLATEAU,
  logThroughput: ([c = 0, k = 0], connections) =>
    connections.map((n) => c + Math.min(0, Math.log(n) - k)),
};

/**
 * A delay Z and one server with service time S, solved exactly (mean value analysis, Reiser and Lavenberg 1980):
 * Q_0 = 0, R_n = S (1 + Q_(n-1)), X_n = n / (Z + R_n), Q_n = X_n R_n. Here C = 1 / S, and R0 = Z + S = knee / C.
 */
const mva: Curve = {
  name: 'mva',
  ...PLATEAU,
  logThroughput([c = 0, k = 0], connections) {
    const service = Math.exp(-c);
    const delay = service * Math.expm1(k);
    const found: number[] = [];
    let queue = 0;
    let n = 0;
    for (const wanted of connections) {
      let throughput = 0;
      for (; n < wanted; ) {
        n += 1;
        const response = service * (1 + queue);
        throughput = n / (delay + response);
        queue = throughput * response;
      }
      found.push(throughput > 0 ? Math.log(throughput) : (found.at(-1) ?? Number.NaN));
    }
    return found;
  },
};

/** Universal Scalability Law (Gunther 2007): X = l N / (1 + s (N - 1) + k N (N - 1)). */
const usl: Curve = {
  name: 'usl',
  low: [-30, 0, 0],
  high: [30, 1, 1],
  initialGuess: (singleSeconds) => [-Math.log(singleSeconds), 0.1, 0.0001],
  logThroughput: ([l = 0, s = 0, k = 0], connections) =>
    connections.map((n) => l + Math.log(n) - Math.log1p(s * (n - 1) + k * n * (n - 1))),
  quantities: ([l = 0, s = 0, k = 0]) => {
    const peak = Math.max(1, Math.sqrt((1 - s) / k));
    const logMaxThroughput =
      l + Math.log(peak) - Math.log1p(s * (peak - 1) + k * peak * (peak - 1));
    return { logSingle: -l, logMaxThroughput, logKnee: logMaxThroughput - l };
  },
};

/** The same law with k = 0: a share s of the work is serial (Amdahl 1967). Throughput rises to l / s and never falls. */
const amdahl: Curve = {
  name: 'amdahl',
  low: usl.low.slice(0, 2),
  high: usl.high.slice(0, 2),
  initialGuess: (singleSeconds, maxThroughput) =>
    usl.initialGuess(singleSeconds, maxThroughput).slice(0, 2),
  logThroughput: usl.logThroughput,
  quantities: ([l = 0, s = 0]) => ({
    logSingle: -l,
    logMaxThroughput: l - Math.log(s),
    logKnee: -Math.log(s),
  }),
};

/** All curves, the simplest first: of two with an equally good fit the earlier one is used. */
export const CURVES: readonly Curve[] = [mva, bounds, amdahl, usl];

/** Computes the logarithm of the connections at which the law's throughput is highest: N = sqrt((1 - s) / k). */
export function computeLogPeak([, s = 0, k = 0]: readonly number[]): number {
  return Math.log((1 - s) / k) / 2;
}
