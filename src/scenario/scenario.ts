import { usageError } from '../errors/millrace-error.js';
import { describeValue, isObject } from '../validation/shape.js';
import { findPlace } from './place.js';
import { readSteps, type Step } from './steps.js';

/** Options of a scenario. */
export interface ScenarioOptions {
  /** Keeps cookies that responses set for the rest of the iteration (RFC 6265). Default `true`. */
  cookies?: boolean;
  /** Redirections of one request that are followed at most, to the servers that the scenarios name. Default 0. */
  follow?: number;
  /** Share of the iterations, relative to the other scenarios' weights. Default 1. */
  weight?: number;
}

/** What a user does in one iteration. */
export interface Scenario extends Readonly<Required<ScenarioOptions>> {
  readonly kind: 'scenario';
  /** File and line of the call, for messages. */
  readonly place?: string | null;
  readonly name: string;
  readonly steps: readonly Step[];
}

/** Most redirections of one request. */
const MAX_FOLLOW = 100;

/** Describes what a user does in one iteration, step by step. */
export function scenario(
  name: string,
  steps: readonly Step[],
  options: ScenarioOptions = {},
): Scenario {
  if (typeof name !== 'string' || name.trim() === '') {
    throw usageError(`scenario takes a name and a list of steps (got ${describeValue(name)})`);
  }
  const where = `scenario '${name}'`;
  if (!isObject(options)) {
    throw usageError(
      `${where}: the third argument is an object of options (got ${describeValue(options)})`,
    );
  }
  const unknown = Object.keys(options).find(
    (key) => !['cookies', 'follow', 'weight'].includes(key),
  );
  if (unknown !== undefined) {
    throw usageError(`${where}: unknown option '${unknown}'; known are cookies, follow, weight`);
  }
  const { cookies = true, follow = 0, weight = 1 } = options;
  if (typeof cookies !== 'boolean') {
    throw usageError(`${where}: cookies must be true or false (got ${describeValue(cookies)})`);
  }
  if (!Number.isSafeInteger(follow) || follow < 0 || follow > MAX_FOLLOW) {
    throw usageError(
      `${where}: follow must be a whole number from 0 to ${MAX_FOLLOW} (got ${describeValue(follow)})`,
    );
  }
  if (!(typeof weight === 'number' && weight > 0 && weight < Number.POSITIVE_INFINITY)) {
    throw usageError(`${where}: weight must be a number above 0 (got ${describeValue(weight)})`);
  }
  if (readSteps(steps, where).length === 0) throw usageError(`${where} has no steps`);
  return {
    ...{ kind: 'scenario' as const, place: findPlace(), name: name.trim() },
    ...{ steps, cookies, follow, weight },
  };
}

/** Reports whether a value is a scenario, also of another copy of this module. */
export function isScenario(value: unknown): value is Scenario {
  return isObject(value) && (value as { kind?: unknown }).kind === 'scenario' && 'steps' in value;
}
