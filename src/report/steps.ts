// The steps of scenarios: their figures by name, and what failed in them.
import { count, plural } from '../format/units.js';
import { countFailures, describeReason } from '../load/outcome/scenarios/failure-words.js';
import type { LoadResult, NamedResult, StepResult } from '../load/result.js';

/** The steps of a scenario that have one name. */
export interface StepRow {
  name: string;
  /** The figures of their requests; `null` where these are counted together with others. */
  requests: NamedResult | null;
  /** Failures for any reason. */
  failed: number;
}

/** The rows of one scenario, in the order of its steps. */
export interface StepGroup {
  scenario: string;
  rows: StepRow[];
}

/** Groups the steps by scenario and name; empty without scenarios. */
export function groupSteps({ steps = [], byName = [] }: LoadResult): StepGroup[] {
  const scenarios = [...new Set(steps.map(({ scenario }) => scenario))];
  return scenarios.map((scenario) => {
    const own = steps.filter((step) => step.scenario === scenario);
    const names = [...new Set(own.map(({ name }) => name))];
    const rows = names.map((name) => ({
      name,
      requests: byName.find((one) => one.name === name) ?? null,
      failed: sum(own.filter((step) => step.name === name).map(countFailures)),
    }));
    return { scenario, rows };
  });
}

/** Lists the names that several scenarios have: their figures are together. */
export function listSharedNames(groups: readonly StepGroup[]): string[] {
  const names = groups.flatMap(({ rows }) => rows.map(({ name }) => name));
  return [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
}

/** What failed in a step, and how often. */
export interface StepFinding {
  step: string;
  /** As in `check status 201`. */
  what: string;
  number: number;
  /** How often it was tried; `null` for failures of the whole step. */
  of: number | null;
  /** The first one in words. */
  example: string | null;
}

/** Lists what failed, step by step: failures for other reasons, checks, and values that were not found. */
export function listFindings({ steps = [] }: LoadResult): StepFinding[] {
  return steps.flatMap((step) => [
    ...listFailures(step),
    ...step.checks.flatMap(({ check, passed, failed, example }) =>
      failed === 0
        ? []
        : [{ step: step.name, what: check, number: failed, of: passed + failed, example }],
    ),
    ...step.saves.flatMap(({ variable, from, optional, found, missing, example }) => {
      const what = `save ${variable} from ${from}`;
      return missing === 0 || optional
        ? []
        : [{ step: step.name, what, number: missing, of: found + missing, example }];
    }),
  ]);
}

/** Failures that neither checks nor saves tell of. */
function listFailures({ name, failures }: StepResult): StepFinding[] {
  return failures
    .filter(({ reason }) => reason !== 'check' && reason !== 'save')
    .map(({ reason, count: number, example }) => ({
      step: name,
      what: describeReason(reason),
      number,
      of: null,
      example,
    }));
}

/** Puts a finding into a sentence without its step: `status 201 failed 14 of 24,600 times: status 409 in: {...}`. */
export function describeFinding({ what, number, of, example }: StepFinding): string {
  const times =
    of === null ? plural(number, 'time') : `failed ${count(number)} of ${plural(of, 'time')}`;
  return `${what} ${times}${example === null || example === '' ? '' : `: ${example}`}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
