/** A measured ratio with its 95 % interval. The replicates are blocks of load. */
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
