/** What the users of a run do, in words. */
export interface FlowSummary {
  /** Users that repeat iterations (closed), or the most iterations at the same time (open). */
  users: number;
  /** Whether each user has connections of its own; otherwise they share those of the plan. */
  ownConnections: boolean;
  scenarios: ScenarioSummary[];
}

/** A scenario of a plan. */
export interface ScenarioSummary {
  name: string;
  /** Share of the iterations. */
  weight: number;
  /** The steps that send requests, in order. */
  steps: RequestStepSummary[];
}

/** A step that sends a request. */
export interface RequestStepSummary {
  /** The name of its requests. */
  name: string;
  /** As in `status 201`. */
  checks: string[];
  /** The variables, and where their values are looked for, as in `json /token`. */
  saves: { variable: string; from: string; optional: boolean }[];
}
