import { usageError } from '../errors.js';
import { DEFAULTS, LIMITS } from '../load/defaults.js';
import { type Condition, parseCondition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';
import { parseCount, parseDuration } from '../units.js';
import { checkOptions } from '../validation/shape.js';
import { packageVersion } from '../version.js';
import { Budget } from './budget.js';
import { CAPACITY_OPTIONS } from './option-schema.js';
import type { CapacityOptions } from './options.js';
import type { CapacityProgress, CapacityResult, Search, Sweep } from './result.js';
import { searchRate } from './search.js';
import { sweepConnections } from './sweep.js';
import { CapacityTarget } from './target.js';

const DEFAULT_BUDGET_MS = 60_000;
const MIN_BUDGET_MS = 5000;

/** Of a sweep: more than the knee of most services, and within the usual limit of descriptors. */
const MAX_SWEEP_CONNECTIONS = 1024;

/** Connections that load flat out, to see where to begin with rates. */
const FLAT_OUT_CONNECTIONS = 64;

/** Reads the options, starts the server if it is to be, and measures. */
export async function run(
  options: CapacityOptions,
  onProgress: (progress: CapacityProgress) => void,
): Promise<CapacityResult> {
  checkOptions(options, CAPACITY_OPTIONS);
  const { slo, budget: given = DEFAULT_BUDGET_MS, ...load } = options;
  const budgetMs = readBudget(given);
  const conditions = readObjective(slo);
  const maxConnections = readConnections(load.connections, conditions.length > 0);
  const startedAt = new Date();
  const budget = new Budget(budgetMs, onProgress);
  const target = new CapacityTarget(load);
  budget.step('starting');
  await target.start();
  try {
    const measured =
      conditions.length > 0
        ? await searchRate(
            target,
            { conditions, budget },
            Math.min(maxConnections, FLAT_OUT_CONNECTIONS),
          )
        : await sweepConnections(target, budget, maxConnections);
    return {
      schemaVersion: 1,
      tool: { name: 'millrace', version: packageVersion() },
      startedAt: startedAt.toISOString(),
      durationMs: budget.elapsedMs,
      budgetMs,
      interrupted: target.isInterrupted,
      plan: { ...measured.first.plan, command: load.command ?? null },
      ...toResultParts(measured),
      warnings: selectWarnings(measured.first),
    };
  } finally {
    await target.stop();
  }
}

function toResultParts(
  measured: { search: Search } | { sweep: Sweep },
): Pick<CapacityResult, 'sweep' | 'search'> {
  return 'search' in measured
    ? { sweep: null, search: measured.search }
    : { sweep: measured.sweep, search: null };
}

/** What is doubtful in every block alike; what is in single ones the levels and trials tell. */
function selectWarnings({ warnings }: LoadResult): CapacityResult['warnings'] {
  const lasting = [
    'shared-cores',
    'target-not-reached',
    'several-ports',
    'addresses-left-out',
    'certificate-not-verified',
  ];
  return warnings.filter(({ id }) => lasting.includes(id));
}

function readBudget(given: number | string): number {
  const ms = parseDuration(given, 'budget');
  if (ms >= MIN_BUDGET_MS) return ms;
  throw usageError(`budget: '${given}' given; accepted: ${MIN_BUDGET_MS / 1000}s or more`);
}

function readObjective(slo: CapacityOptions['slo']): Condition[] {
  const conditions = [slo ?? []].flat().map((text) => parseCondition(text, 'slo'));
  if (slo !== undefined && conditions.length === 0) {
    throw usageError("slo: an empty list given; accepted: conditions such as 'p99<50ms'");
  }
  const bound = conditions.find(({ metric }) => metric === 'throughput');
  if (bound) {
    throw usageError(
      `slo: '${bound.text}' given; accepted: times, errors and timeouts: the throughput is what is looked for`,
    );
  }
  return conditions;
}

function readConnections(given: CapacityOptions['connections'], open: boolean): number {
  const fallback = open ? DEFAULTS.openConnections : MAX_SWEEP_CONNECTIONS;
  return parseCount(given ?? fallback, 'connections', LIMITS.connections);
}
