import type { Scenario } from './scenario.js';

/** What a module of scenarios exports. */
export interface ScenarioModule {
  /** A scenario, or a list of them. Any other exported scenario, or list of them, counts as well. */
  default?: Scenario | readonly Scenario[];
  /** Called once before the clock starts; the properties of what it returns are variables of every iteration. */
  setup?: (context: SetupContext) => unknown;
  /** Called once after the run, with what `setup()` returned. */
  teardown?: (data: unknown, context: SetupContext) => unknown;
  /** Scenarios of any other name. */
  [name: string]: unknown;
}

/** What `setup()` and `teardown()` know. */
export interface SetupContext {
  /** The server of the run, without a slash at the end; `null` if the scenarios name theirs. */
  url: string | null;
  /** Environment variables, with those of `--env`. */
  env: NodeJS.ProcessEnv;
  /** Aborted when the run is ended early; `null` if it cannot be, and in `teardown()`. */
  signal: AbortSignal | null;
}

/** The value of the option `scenario` of `load()`: a scenario, several, what a module exports, or its path. */
export type ScenarioOption = Scenario | readonly Scenario[] | ScenarioModule | string | URL;
