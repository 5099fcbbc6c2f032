import type { PeerMeasurement } from '../peers/peer-measure.js';

/** A server and how it is loaded. */
export interface Scenario {
  server: 'own' | 'nginx';
  processes: number;
  /** Whether each request has a connection of its own. */
  close: boolean;
}

/** The run of a tool against a server. */
export interface ToolRun extends PeerMeasurement {
  tool: string;
  scenario: Scenario;
}

/** The means of a tool over its runs in a scenario. */
export interface ToolResult {
  tool: string;
  reportedRate: number;
  countedRate: number | null;
  errors: number;
  /** CPU in cores; `null` if the system does not report it. */
  toolCores: number | null;
  serverCores: number | null;
  /** CPU time of the tool per request, in milliseconds. */
  cpuMs: number | null;
  /** Requests per second of the tool's CPU time. */
  perCore: number | null;
  /** `perCore` of each run. */
  perCoreRuns: number[];
}
