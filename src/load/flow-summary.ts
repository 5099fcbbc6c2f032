/** The scenarios of a plan, in words. */
export interface FlowSummary {
  scenarios: ScenarioSummary[];
  users: number;
  ownConnections: boolean;
}

export interface ScenarioSummary {
  name: string;
  weight: number;
  steps: RequestStepSummary[];
}

export interface RequestStepSummary {
  name: string;
  checks: string[];
  saves: { variable: string; from: string }[];
}
