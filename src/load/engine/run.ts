import { usageError } from '../../errors/millrace-error.js';
import type { NativeFlows, NativePlan, NativeStep } from '../../native/addon.js';
import type { CommandOptions } from '../../process/command/spawn.js';
import type { ServerProcess } from '../../process/command/start-command.js';
import type { Endpoint } from '../../process/listening/types.js';
import { checkOptions } from '../../validation/shape.js';
import { DEFAULTS } from '../defaults.js';
import { loadScenario } from '../flows/load-module.js';
import { withSetup } from '../flows/setup.js';
import { LOAD_OPTIONS, OTHER_LOAD_NAMES } from '../option-schema.js';
import type { LoadOptions } from '../options.js';
import { buildPlan, buildTrialRequest, FUTURE_SERVER, type Plan } from '../plan/plan.js';
import { readStartAt } from '../plan/start-at.js';
import { measure, type TimedResult } from './measure.js';
import { Snapshots } from './snapshots.js';

/** Settings of a run that are not options of `load()`. */
export interface RunSettings {
  /** Receives the run's progress. */
  snapshots?: Snapshots;
  /**
   * An experiment of `explain`: the engine sends an empty line when the first part of a response has arrived and the rest
   * has not. The line carries the acknowledgement that a server with Nagle's algorithm waits for. Default `false`; refused
   * if connections are not kept.
   */
  earlyAckProbe?: boolean;
  /** Another server of the same kind: half of the connections send the same requests there. */
  secondEndpoint?: Endpoint;
  /** One iteration of each scenario is done, and everything of it is kept. */
  trace?: boolean;
  /**
   * Called when all but the connections is ready, after `setup()` of scenarios; resolves with the instant at which the load
   * begins, in milliseconds of Unix time. In place of `startAt`.
   */
  awaitStart?: () => Promise<number>;
  /** Changes the environment of the command. */
  adjustEnv?: CommandOptions['adjustEnv'];
}

/** Runs a load, and starts and stops its command's server; rejects as `load()` does. */
export function runLoad(options: LoadOptions, settings: RunSettings = {}): Promise<TimedResult> {
  const { snapshots = new Snapshots(), awaitStart } = settings;
  return withServer(options, settings, (plan, command) =>
    measure({ options, plan, command, snapshots, ...(awaitStart && { awaitStart }) }),
  );
}

/** Calls `use` with the plan of the options, and with their command's server, which runs until `use` is done. */
export async function withServer<Result>(
  given: LoadOptions,
  settings: RunSettings,
  use: (plan: Plan, command: ServerProcess | null) => Promise<Result>,
): Promise<Result> {
  checkOptions(given, LOAD_OPTIONS, OTHER_LOAD_NAMES);
  // A time from now counts from here, however often the plan is built.
  const startAt = readStartAt(given.startAt, 'startAt');
  const options = await loadScenario({ ...given, ...(startAt !== null && { startAt }) });
  const { command, env, cwd, signal } = options;
  signal?.throwIfAborted();
  const planFor = async (server?: string, data?: unknown) =>
    adjustPlan(await buildPlan(options, server, data), settings);
  if (!command) {
    // What cannot be run is refused before setup() is called.
    const draft = await planFor();
    return withSetup(options, null, async (data) =>
      use(data === undefined ? draft : await planFor(undefined, data), null),
    );
  }

  // Options that cannot be run are refused before the server starts, when its port may not be known yet.
  const draft = await planFor(FUTURE_SERVER);
  const { startCommand } = await import('../../process/command/start-command.js');
  const server = await startCommand(command, {
    timeoutMs: DEFAULTS.commandTimeoutMs,
    ...(draft.toCommand ? { trial: buildTrialRequest(draft) } : { port: readPort(draft) }),
    ...(signal && { signal }),
    ...{ env, cwd, adjustEnv: settings.adjustEnv },
  });
  try {
    return await withSetup(options, server.origin, async (data) => {
      const isFinal = !draft.toCommand && data === undefined;
      return use(
        isFinal ? draft : await planFor(draft.toCommand ? server.origin : undefined, data),
        server,
      );
    });
  } finally {
    await server.stop();
  }
}

function adjustPlan(
  { native, ...rest }: Plan,
  { earlyAckProbe = false, secondEndpoint, trace = false }: RunSettings,
): Plan {
  const plan = { ...rest, native: { ...native, earlyAckProbe, ...(trace && traceOnce(native)) } };
  return secondEndpoint ? addSecondEndpoint(plan, secondEndpoint) : plan;
}

/** One iteration of each scenario: with equal weights they take turns. */
function traceOnce({ flows }: NativePlan): Partial<NativePlan> {
  if (!flows) return {};
  const scenarios = flows.scenarios.map((scenario) => ({ ...scenario, weight: 1 }));
  return { maxRequests: scenarios.length, flows: { ...flows, scenarios, trace: true } };
}

/** Adds each request a second time for the other server, with the same Host header. */
function addSecondEndpoint(plan: Plan, { host, port }: Endpoint): Plan {
  const { origins, requests, flows } = plan.native;
  const others = origins.map(({ unixPath, ...origin }) => ({ ...origin, host, port }));
  const shifted = requests.map((request) => ({
    ...request,
    origin: request.origin + origins.length,
  }));
  return {
    ...plan,
    native: {
      ...plan.native,
      ...(flows ? { flows: doubleScenarios(flows, requests.length) } : { pinned: true }),
      origins: [...origins, ...others],
      requests: [...requests, ...shifted],
    },
  };
}

/** Adds each scenario a second time, for the requests that follow `count` others. */
function doubleScenarios(flows: NativeFlows, count: number): NativeFlows {
  const shift = (steps: readonly NativeStep[]): NativeStep[] =>
    steps.map(({ request, pause, repeat, when }) => ({
      ...(request && { request: { ...request, request: request.request + count } }),
      ...(pause && { pause }),
      ...(repeat && { repeat: { ...repeat, steps: shift(repeat.steps) } }),
      ...(when && { when: { ...when, steps: shift(when.steps) } }),
    }));
  const { scenarios } = flows;
  const others = scenarios.map((scenario) => ({ ...scenario, steps: shift(scenario.steps) }));
  return { ...flows, scenarios: [...scenarios, ...others] };
}

function readPort({ native }: Plan): number {
  const origin = native.origins[0];
  if (origin && origin.unixPath === undefined) return origin.port;
  throw usageError(
    'a command cannot be combined with a Unix socket: its server must listen on a TCP port',
  );
}
