/** A measured ratio with its interval, of 95 % unless asked otherwise. The replicates are blocks of load. */
export interface MeasuredRatio extends Range {
  ratio: number;
  /** Number of pairs of blocks. */
  pairs: number;
}

/** A closed interval. */
export interface Range {
  low: number;
  high: number;
}
