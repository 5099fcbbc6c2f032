import { usageError } from '../../errors/millrace-error.js';
import { maskArguments } from '../../masking/text.js';
import type { NativePlan } from '../../native/addon.js';
import { listWords } from '../../process/command/command-line.js';
import type { TrialRequest } from '../../process/listening/trial-request.js';
import { parseDuration } from '../../validation/units.js';
import { DEFAULTS } from '../defaults.js';
import { checkCommand } from '../input/command.js';
import { refuseOtherPid } from '../input/pid.js';
import type { LoadOptions } from '../options.js';
import { readPlaceholders } from '../requests/placeholders.js';
import { readRequestMix } from '../requests/request-mix.js';
import { parseUrl } from '../requests/url.js';
import type { PlanSummary } from '../result.js';
import { readBounds } from './abort-conditions.js';
import { readConcurrency } from './concurrency.js';
import { type Condition, parseCondition } from './condition.js';
import { checkConditionSubject } from './condition-subject.js';
import { listExpectedStatuses, readExpect } from './expect.js';
import { readSchedule, requirePositive, type Schedule } from './schedule.js';
import { readTransport } from './transport.js';

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
 * `command` is the URL of a command's server, without path.
 */
export async function buildPlan(options: LoadOptions, command?: string): Promise<Plan> {
  checkCommand(options);
  refuseSocketOfCommand(options);
  refuseOtherPid(options.pid);
  const base = command === undefined ? null : parseUrl(command, 'command');
  const mix = readRequestMix(options, base);
  const schedule = readSchedule(options);
  const { model, ...timing } = schedule;
  const transport = readTransport(options, mix);
  const concurrency = readConcurrency(options, schedule, transport.connection, mix.origins.length);
  const limits = {
    timeoutMs: readTimeLimit(options.timeout ?? DEFAULTS.timeoutMs, 'timeout'),
    connectTimeoutMs: readTimeLimit(
      options.connectTimeout ?? DEFAULTS.connectTimeoutMs,
      'connectTimeout',
    ),
  };
  const expect = readExpect(options.expect);
  const conditions = readConditions(options);
  const subjects = { requests: mix.names, targets: mix.summary, scenarios: null };
  for (const condition of conditions) checkConditionSubject(condition, subjects);
  const abortConditions = (options.abortOnFail ?? DEFAULTS.abortOnFail) ? conditions : [];
  const buckets = (options.buckets ?? []).map((bound) => readTimeLimit(bound, 'buckets'));
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const placeholders = options.placeholders ?? DEFAULTS.placeholders;
  const csv = placeholders ? await readPlaceholders(mix.requests) : [];
  return {
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
      expected: listExpectedStatuses(expect),
      bounds: [
        ...readBounds(abortConditions),
        ...buckets.map((ms) => ({ serviceTime: false, ms })),
      ],
      snapshotsByName: buckets.length > 0 || abortConditions.some(({ name }) => name !== null),
      earlyAckProbe: false,
      seed,
    },
    summary: {
      model,
      targets: mix.summary,
      order: mix.weighted ? 'weighted' : 'in-turn',
      ...concurrency,
      ...timing,
      ...limits,
      connection: transport.connection,
      handshake: transport.handshake,
      verifyCertificate: transport.handshake === null ? null : transport.native.verify,
      expect,
      seed,
      command: options.command === undefined ? null : maskArguments(listWords(options.command)),
    },
    conditions,
    abortConditions,
    names: mix.names,
    buckets: buckets.length,
    ...(transport.extraAuthoritiesError !== null && {
      extraAuthoritiesError: transport.extraAuthoritiesError,
    }),
    toCommand: mix.toCommand,
  };
}

/** Builds the request that tries the ports of a command: the first one of the mix, as GET or HEAD and without placeholders. */
export function buildTrialRequest({ native }: Plan): TrialRequest {
  const { method, target } = native.requests[0] ?? { method: 'GET', target: '/' };
  return {
    method: method === 'GET' ? 'GET' : 'HEAD',
    target: target.includes('{{') ? '/' : target,
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
      `abortOnFail: '${late.text}' is known only at the end of a run; of scenarios iterations, iterations.rate, iterations.failed and iterations.notStarted can end it`,
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
