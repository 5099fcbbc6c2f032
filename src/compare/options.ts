import type { LoadOptions } from '../load/options.js';
import type { LoadResult } from '../load/result.js';
import type { Duration } from '../validation/units.js';

/** One of the two that are compared: what is its own; the rest are the options of the load, which both have. */
export interface CompareSide {
  /** How reports call it. Default: what it does not share with the other side. */
  label?: string;
  /** Its server's command. Default: that of the load. */
  command?: LoadOptions['command'];
  /** Its URL or URLs. Default: those of the load. */
  url?: LoadOptions['url'];
  /** Environment variables for its command, in addition to those of the load. */
  env?: LoadOptions['env'];
  /** Folder that its command runs in. Default: that of the load. */
  cwd?: string;
  /** `true`: its command, which must be Node.js, runs on Millrace's HTTP stack; `false`: without it, even if it loads it itself. */
  stack?: boolean;
  /** JSON files of earlier results, or patterns with `*` and `?`: these are compared, and nothing is run. */
  files?: readonly string[];
  /** Earlier results, in addition to those of `files`. */
  results?: LoadResult[];
}

/** Options of `compare()`: those of `load()` that both sides have, and the two sides. */
export interface CompareOptions
  extends Omit<LoadOptions, 'failOn' | 'abortOnFail' | 'pid' | 'segment' | 'startAt'> {
  /** What B is measured against. */
  a: CompareSide;
  /** The side whose ratios to A are reported. */
  b: CompareSide;
  /** Of each run. Default 1 s, or as of `load()` with `requests` or `stages`. */
  duration?: Duration;
  /** Load before the measurement of each run. Default 1 s, or none with `stages` that start without a load. */
  warmup?: Duration;
  /** Relative width of the verdict's interval that ends the comparison: text, or a number such as 0.03. Default `'3%'`. */
  width?: number | string;
  /** Time after which no further pair of runs begins. Default 3 minutes. */
  budget?: Duration;
  /** Relative difference up to which both count as equal: text, or a number such as 0.02. Default `'2%'`. */
  margin?: number | string;
  /** Compares servers that answer differently, and results of different plans; the result lists the differences. Default `false`. */
  allowDifference?: boolean;
  /** Conditions on ratios of B to A, such as `'throughput ratio>=0.97'` or `'GET /users/:id: p99 ratio<=1.1'`. */
  failOn?: string | readonly string[];
}
