import { usageError } from '../errors/millrace-error.js';
import type { ComparisonMetric, ComparisonRow, RatioConditionResult } from './result.js';

/** A condition on a ratio of B to A. */
export interface RatioCondition {
  /** As given. */
  text: string;
  metric: ComparisonMetric;
  /** The request name; `null`: all requests. */
  name: string | null;
  comparison: '<=' | '>=';
  bound: number;
}

const METRICS: Record<string, ComparisonMetric> = {
  throughput: 'throughput',
  p50: 'p50Ms',
  p99: 'p99Ms',
  cpu: 'cpuPerRequestUs',
  memory: 'memoryMb',
};

const SYNTAX = /^(?:(.*): )?\s*([a-z0-9]+)\s+ratio\s*([<>]=?)\s*(\d*\.?\d+)$/is;
const EXAMPLES =
  "'throughput ratio>=0.97', 'p50 ratio<=1.1', 'p99 ratio<=1.1', 'cpu ratio<=1.05', 'memory ratio<=1.2' or, of one request name, 'GET /users/:id: p99 ratio<=1.1'";

/** Reads a condition such as `p99 ratio<=1.1`, or of one request name `list users: p99 ratio<=1.1`. `given` names the flag or option. */
export function parseRatioCondition(text: string, given: string): RatioCondition {
  const [, name = null, word = '', comparison = '', bound] = SYNTAX.exec(text.trim()) ?? [];
  const metric = Object.hasOwn(METRICS, word.toLowerCase())
    ? METRICS[word.toLowerCase()]
    : undefined;
  if (metric === undefined) {
    throw usageError(
      `${given} must be a condition on a ratio of B to A: ${EXAMPLES} (got '${text}')`,
    );
  }
  // Of a continuous ratio < and <= are the same.
  const isMinimum = comparison.startsWith('>');
  return { text, metric, name, comparison: isMinimum ? '>=' : '<=', bound: Number(bound) };
}

/**
 * Judges a condition by the interval of its ratio: it fails only where all of that lies beyond the bound. What tells nothing
 * decides nothing: a row with a doubt, or without an interval.
 */
export function evaluateRatioCondition(
  { text, metric, name, comparison, bound }: RatioCondition,
  rows: readonly ComparisonRow[],
): RatioConditionResult {
  // Where all requests have one name there are no rows of that name.
  const isOnlyName = rows.every((row) => row.name === null);
  const rowName = isOnlyName ? null : name;
  const row = rows.find((row) => row.metric === metric && row.name === rowName);
  const { ratio = null, doubt = null } = row ?? {};
  const value = ratio?.estimate ?? null;
  const undecided = (reason: string) => ({ condition: text, value, holds: null, reason });
  if (doubt !== null) return undecided(doubt);
  if (ratio === null) return undecided('there is no ratio');
  if (ratio.low === null || ratio.high === null) return undecided('there is no interval');
  const holds = comparison === '>=' ? ratio.high >= bound : ratio.low <= bound;
  return { condition: text, value, holds, reason: null };
}

/** Refuses conditions on request names that no request has. */
export function checkConditionNames(
  conditions: readonly RatioCondition[],
  names: readonly string[],
): void {
  const unknown = conditions.find(({ name }) => name !== null && !names.includes(name));
  if (!unknown) return;
  const known = names.slice(0, MAX_NAMES_SHOWN).join(', ');
  const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : '';
  const there = names.length > 0 ? `the names are ${known}${more}` : 'the requests have no names';
  throw usageError(`'${unknown.text}': no request has the name '${unknown.name}'; ${there}`);
}

const MAX_NAMES_SHOWN = 10;
