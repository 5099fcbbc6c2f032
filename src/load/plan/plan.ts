import { usageError } from '../../errors/millrace-error.js';
import { maskArguments } from '../../masking/text.js';
import type { NativePlan } from '../../native/addon.js';
import { listWords } from '../../process/command/command-line.js';
import type { TrialRequest } from '../../process/listening/trial-request.js';
import { parseBytes, parseDuration } from '../../validation/units.js';
import { DEFAULTS } from '../defaults.js';
import { type BuiltFlows, buildFlows, type Hook } from '../flows/build-flows.js';
import { findFolder, loadScenario } from '../flows/load-module.js';
import { listRequestSteps, readScenarios } from '../flows/read-scenarios.js';
import { buildStepTargets, refuseConflicts, type StepTarget } from '../flows/step-targets.js';
import { checkCommand } from '../input/command.js';
import { refuseOtherPid } from '../input/pid.js';
import type { LoadOptions } from '../options.js';
import { listExpectedStatuses, readExpect } from '../requests/expect.js';
import { expandGrpc } from '../requests/grpc-options.js';
import { readPlaceholders } from '../requests/placeholders.js';
import { type RequestMix, readRequestMix } from '../requests/request-mix.js';
import { readTraceparent } from '../requests/traceparent.js';
import { parseUrl } from '../requests/url.js';
import type { PlanSummary } from '../result.js';
import { readBounds } from './abort-conditions.js';
import { readConcurrency } from './concurrency.js';
import { type Condition, parseCondition } from './condition.js';
import { checkConditionSubject } from './condition-subject.js';
import { chooseTrialProtocol, readProtocol } from './protocol.js';
import { readSchedule, requirePositive, type Schedule } from './schedule.js';
import { dividePlan } from './segments/divide-plan.js';
import { readSegment } from './segments/read-segment.js';
import { readStartAt } from './start-at.js';
import { readTransport } from './transport.js';
import { readUsers } from './users.js';

/** The engine's plan of a run, and its description in the result. */
export interface Plan {
  native: NativePlan;
  /** The description, without the addresses: they are known after the run. */
  summary: Omit<PlanSummary, 'addresses'>;
  /** Conditions that the result is judged by. */
  conditions: Condition[];
  /** Those of them that end the run as soon as they can no longer hold: all or none. */
  abortConditions: Condition[];
  /** Names of the requests, in the order of their numbers. */
  names: string[];
  /** Number of latency buckets: their bounds are the last ones of `native.bounds`. */
  buckets: number;
  /** Why the authorities of NODE_EXTRA_CA_CERTS are not trusted. Absent if they are, or are not needed. */
  extraAuthoritiesError?: string;
  /** Whether some requests go to the command's server by a URL without host and port. */
  toCommand: boolean;
  /** Hooks of the scenarios' steps, by the numbers that the engine calls them by. */
  hooks: Hook[];
  /** What the scenarios' `setup()` returned. */
  data: unknown;
  /** When the load is to begin, in milliseconds of Unix time; `null`: as soon as possible. */
  startAtMs: number | null;
}

type NativeSchedule = Pick<
  NativePlan,
  | 'startRate'
  | 'stages'
  | 'poisson'
  | 'maxPending'
  | 'durationMs'
  | 'maxRequests'
  | 'warmupMs'
  | 'thinkTimeMs'
>;

/**
 * Stands for a command's server until that runs: its port and scheme are not known. Options of TLS are refused once it is
 * found to speak http.
 */
export const FUTURE_SERVER = 'https://localhost';

/**
 * Reads the options, completes them with the defaults and refuses those that cannot be run, with `ERR_MILLRACE_USAGE`.
 * `command` is the URL of a command's server, without path, and `setupData` what the scenarios' `setup()` returned.
 */
export async function buildPlan(
  given: LoadOptions,
  command?: string,
  setupData?: unknown,
): Promise<Plan> {
  const options = expandGrpc(await loadScenario(given));
  const isGrpc = options.grpc !== undefined;
  // A file of scenarios has the environment too.
  const hasOwnUse = options.command === undefined && options.scenario !== undefined;
  checkCommand(hasOwnUse ? { cwd: options.cwd } : options);
  refuseSocketOfCommand(options);
  refuseOtherPid(options.pid);
  const base = command === undefined ? null : parseUrl(command, 'command');
  const located = readLocatedSteps(options);
  const mix = readRequestMix(options, base, located?.targets.map(({ target }) => target) ?? null);
  const schedule = readSchedule(options);
  const { model, ...timing } = schedule;
  const transport = readTransport(options, mix);
  const protocol = readProtocol(options, mix, command === FUTURE_SERVER);
  const flows = located ? completeFlows(located, mix, setupData) : null;
  const [connection, servers] = [transport.connection, mix.origins.length];
  const people = flows ? readUsers(options, schedule, connection, servers) : null;
  const concurrency =
    people?.concurrency ?? readConcurrency(options, schedule, connection, servers);
  const limits = {
    timeoutMs: readTimeLimit(options.timeout ?? DEFAULTS.timeoutMs, 'timeout'),
    connectTimeoutMs: readTimeLimit(
      options.connectTimeout ?? DEFAULTS.connectTimeoutMs,
      'connectTimeout',
    ),
  };
  const expect = readExpect(options.expect ?? (isGrpc ? 'OK' : undefined), 'expect', isGrpc);
  const conditions = readConditions(options);
  const scenarios = flows?.summary.map(({ name }) => name) ?? null;
  const subjects = { requests: mix.names, targets: mix.summary, scenarios };
  for (const condition of conditions) checkConditionSubject(condition, subjects);
  const abortConditions = (options.abortOnFail ?? DEFAULTS.abortOnFail) ? conditions : [];
  const buckets = (options.buckets ?? []).map((bound) => readTimeLimit(bound, 'buckets'));
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const placeholders = options.placeholders ?? DEFAULTS.placeholders;
  const segment = readSegment(options);
  const traceparent = readTraceparent(options, mix.requests);
  const csv = placeholders
    ? await readPlaceholders(
        mix.requests,
        flows?.native.variables,
        flows?.texts,
        findFolder(options),
      )
    : [];
  const plan: Plan = {
    native: {
      origins: mix.origins,
      requests: mix.requests,
      names: mix.names.length,
      weighted: mix.weighted,
      ...buildNativeSchedule(schedule),
      ...concurrency,
      pinned: false,
      ...limits,
      placeholders,
      csv,
      closeConnections: transport.connection === 'close',
      tls: transport.native,
      ...(protocol.native && { http2: protocol.native }),
      grpc: mix.callsGrpc,
      expected: listExpectedStatuses(expect),
      bounds: [
        ...readBounds(abortConditions),
        ...buckets.map((ms) => ({ serviceTime: false, ms })),
      ],
      windowLatencies: false,
      snapshotsByName: buckets.length > 0 || abortConditions.some(({ name }) => name !== null),
      earlyAckProbe: false,
      seed,
      ...(traceparent !== null && { traced: traceparent }),
      ...(flows &&
        people && { flows: { ...flows.native, ...people.users, maxBody: readMaxBody(options) } }),
    },
    summary: {
      model,
      targets: mix.summary,
      order: mix.weighted ? 'weighted' : 'in-turn',
      ...concurrency,
      ...timing,
      ...limits,
      httpVersion: protocol.version,
      ...(options.grpc !== undefined && { grpc: options.grpc }),
      connection: transport.connection,
      handshake: transport.handshake,
      verifyCertificate: transport.handshake === null ? null : transport.native.verify,
      expect,
      seed,
      ...(traceparent !== null && { traceparent }),
      command: options.command === undefined ? null : maskArguments(listWords(options.command)),
      ...(flows && people && { flows: { scenarios: flows.summary, ...people.users } }),
    },
    conditions,
    abortConditions,
    names: mix.names,
    buckets: buckets.length,
    ...(transport.extraAuthoritiesError !== null && {
      extraAuthoritiesError: transport.extraAuthoritiesError,
    }),
    toCommand: mix.toCommand,
    hooks: flows?.hooks ?? [],
    data: setupData,
    startAtMs: readStartAt(options.startAt, 'startAt'),
  };
  return segment === null ? plan : dividePlan(plan, segment);
}

/** The request steps of the option `scenario`, as targets. */
interface LocatedSteps {
  scenarios: ReturnType<typeof readScenarios>;
  targets: StepTarget[];
}

function readLocatedSteps(options: LoadOptions): LocatedSteps | null {
  if (options.scenario === undefined) {
    for (const option of ['users', 'maxBody'] as const) {
      if (options[option] !== undefined) throw usageError(`${option} is for scenarios`);
    }
    return null;
  }
  const scenarios = readScenarios(options.scenario);
  const steps = listRequestSteps(scenarios.scenarios);
  refuseConflicts(
    options,
    steps.some(({ step }) => step.call),
  );
  if (steps.length === 0) throw usageError('the scenarios have no step that sends a request');
  return { scenarios, targets: buildStepTargets(steps, options) };
}

/** Completes the requests of the mix by what is the steps' alone, and builds the flows. */
function completeFlows(
  { scenarios, targets }: LocatedSteps,
  mix: RequestMix,
  setupData: unknown,
): BuiltFlows {
  mix.requests.forEach((request, index) => {
    Object.assign(request, targets[index]?.extra);
  });
  return buildFlows(scenarios.scenarios, mix.requests, setupData, scenarios.setup !== undefined);
}

function readMaxBody({ maxBody = DEFAULTS.maxBody }: LoadOptions): number {
  return parseBytes(maxBody, 'maxBody');
}

/** Builds the request that tries the ports of a command: the first one of the mix, as GET or HEAD and without placeholders. */
export function buildTrialRequest({ native }: Plan): TrialRequest {
  const protocol = chooseTrialProtocol(native);
  // What a user does first is often a login, which a server may not expect as another method.
  if (native.flows) return { method: 'HEAD', target: '/', ...protocol };
  const { method, target } = native.requests[0] ?? { method: 'GET', target: '/' };
  return {
    method: method === 'GET' ? 'GET' : 'HEAD',
    target: target.includes('{{') ? '/' : target,
    ...protocol,
  };
}

function refuseSocketOfCommand({ command, socketPath }: LoadOptions): void {
  if (command !== undefined && socketPath !== undefined) {
    throw usageError(
      'a command cannot be combined with a Unix socket: its server must listen on a TCP port',
    );
  }
}

function readConditions({
  failOn = [],
  abortOnFail = DEFAULTS.abortOnFail,
}: LoadOptions): Condition[] {
  const conditions = [failOn].flat().map((text) => parseCondition(text, 'failOn'));
  if (abortOnFail && conditions.length === 0) {
    throw usageError('abortOnFail needs failOn: a condition to end the run by');
  }
  const late = conditions.find(({ isOfEndAlone }) => isOfEndAlone);
  if (abortOnFail && late) {
    throw usageError(
      `abortOnFail: '${late.text}' is known only at the end of a run: leave it out, or run without abortOnFail`,
    );
  }
  return conditions;
}

function readTimeLimit(value: number | string, name: string): number {
  return requirePositive(parseDuration(value, name), name);
}

function buildNativeSchedule(schedule: Schedule): NativeSchedule {
  const { rate, stages, durationMs, requests, warmupMs, thinkTimeMs } = schedule;
  return {
    ...(rate !== null && { startRate: rate }),
    ...(durationMs !== null && { durationMs }),
    ...(requests !== null && { maxRequests: requests }),
    stages,
    poisson: schedule.arrivals === 'poisson',
    maxPending: schedule.maxPending ?? DEFAULTS.maxPending,
    warmupMs,
    thinkTimeMs,
  };
}
