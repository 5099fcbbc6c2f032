/** A measured ratio with its 95 % interval; the block of load is the replicate. */
export interface MeasuredRatio extends Range {
  ratio: number;
  /** Pairs of blocks that it comes from. */
  pairs: number;
}

/** A quantity with what it may reach: both ends belong to it. */
export interface Range {
  low: number;
  high: number;
}
