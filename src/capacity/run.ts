import { packageVersion } from '../environment/version.js';
import { usageError } from '../errors/millrace-error.js';
import { LIMITS } from '../load/defaults.js';
import { type Condition, parseCondition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';
import { checkOptions } from '../validation/shape.js';
import { parseCount, parseDuration } from '../validation/units.js';
import { Budget } from './budget.js';
import { CAPACITY_DEFAULTS, MIN_BUDGET_MS } from './defaults.js';
import { CAPACITY_OPTIONS, OTHER_CAPACITY_NAMES } from './option-schema.js';
import type { CapacityOptions } from './options.js';
import type { CapacityProgress, CapacityResult, CapacitySearch, CapacitySweep } from './result.js';
import { searchRate } from './search.js';
import { sweepConnections } from './sweep.js';
import { CapacityTarget } from './target.js';

/** Connections of the block without a rate that determines the first rate. */
const FLAT_OUT_CONNECTIONS = 64;

/** Checks the options, starts the server if there is a command, and measures. */
export async function run(
  options: CapacityOptions,
  onProgress: (progress: CapacityProgress) => void,
): Promise<CapacityResult> {
  checkOptions(options, CAPACITY_OPTIONS, OTHER_CAPACITY_NAMES);
  const { slo, budget: budgetOption = CAPACITY_DEFAULTS.budgetMs, ...load } = options;
  const budgetMs = readBudget(budgetOption);
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
      schemaVersion: 2,
      tool: { name: 'millrace', version: packageVersion() },
      startedAt: startedAt.toISOString(),
      durationMs: budget.elapsedMs,
      budgetMs,
      interrupted: target.isInterrupted,
      plan: { ...measured.first.plan, command: target.command },
      ...toResultParts(measured),
      warnings: selectWarnings(measured.first),
    };
  } finally {
    await target.stop();
  }
}

function toResultParts(
  measured: { first: LoadResult } & ({ search: CapacitySearch } | { sweep: CapacitySweep }),
): Pick<CapacityResult, 'sweep' | 'search'> {
  const counted = measured.first.iterations ? ({ counted: 'iterations' } as const) : {};
  return 'search' in measured
    ? { sweep: null, search: { ...counted, ...measured.search } }
    : { sweep: { ...counted, ...measured.sweep }, search: null };
}

/** Selects the warnings that apply to every block; levels and trials report those of single blocks. */
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

function readBudget(value: number | string): number {
  const ms = parseDuration(value, 'budget');
  if (ms >= MIN_BUDGET_MS) return ms;
  throw usageError(
    `budget must be at least ${MIN_BUDGET_MS / 1000}s (got ${typeof value === 'number' ? `${value}ms` : value})`,
  );
}

/** Metrics that the search gives. */
const RESULTS = ['throughput', 'iterations', 'iterations.rate'];

function readObjective(slo: CapacityOptions['slo']): Condition[] {
  const conditions = [slo ?? []].flat().map((text) => parseCondition(text, 'slo'));
  if (slo !== undefined && conditions.length === 0) {
    throw usageError(
      "slo must contain at least one condition, such as 'p99<50ms' (got an empty list)",
    );
  }
  const bound = conditions.find(({ metric }) => RESULTS.includes(metric));
  if (bound) {
    throw usageError(
      `slo must be about times, errors, timeouts or checks (got '${bound.text}'): ${bound.metric} is the result of the search`,
    );
  }
  return conditions;
}

function readConnections(value: CapacityOptions['connections'], open: boolean): number {
  const fallback = CAPACITY_DEFAULTS[open ? 'openConnections' : 'connections'];
  return parseCount(value ?? fallback, 'connections', LIMITS.connections);
}
