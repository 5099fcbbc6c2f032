/** A measured ratio with its interval, of 95 % unless asked otherwise. The replicates are blocks of load. */
export interface MeasuredRatio extends Interval {
  ratio: number;
  /** Number of pairs of blocks. */
  pairs: number;
}

/** A closed interval. */
export interface Interval {
  low: number;
  high: number;
}
