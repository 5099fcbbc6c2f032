import type { Scenario } from './scenario.js';

/** What a module of scenarios exports. */
export interface ScenarioModule {
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
  env: NodeJS.ProcessEnv;
  signal: AbortSignal | null;
}

/** The value of the option `scenario` of `load()`: a scenario, several, what a module exports, or its path. */
export type ScenarioOption = Scenario | readonly Scenario[] | ScenarioModule | string | URL;
