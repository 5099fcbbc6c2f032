/** The parts of a plan that shares of a run divide among themselves. */
export interface PlanShare {
  connections: number;
  initialConnections: number;
  connectionStages: { durationMs: number; connections: number }[];
  rate: number | null;
  stages: { durationMs: number; rate: number }[];
  requests: number | null;
  maxPending: number | null;
  /** Absent without scenarios. */
  users?: number;
}

/** Which share of a run a result is of. */
export interface SegmentSummary {
  /** From 1 on. */
  index: number;
  /** Number of shares. */
  count: number;
  /** What all shares have together; the plan's own fields are those of this share. */
  whole: PlanShare;
}

/** A start at an instant of the wall clock. */
export interface StartResult {
  /** The instant, ISO 8601. */
  at: string;
  /** How much later the load began; 0 if it did not. */
  lateMs: number;
}

/** What a clock showed more than another one. */
export interface ClockResult {
  offsetMs: number;
  /** The offset is known to this accuracy, either way: half of the shortest time of a message and its answer. */
  boundMs: number;
}

/** Names a generator of a merged result in words: by its name, its share, or its place in the list. */
export function nameGenerator(
  { name, segment }: { name: string | null; segment?: SegmentSummary },
  index: number,
): string {
  if (name !== null) return name;
  return segment ? `share ${segment.index}` : `generator ${index + 1}`;
}
