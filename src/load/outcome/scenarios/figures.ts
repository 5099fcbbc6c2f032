import type { Secrets } from '../../../masking/secrets.js';
import type {
  NativeFlowOutcome,
  NativeScenarioOutcome,
  NativeStepOutcome,
} from '../../../native/addon.js';
import type { FlowSummary, RequestStepSummary } from '../../flow-summary.js';
import { nameStatus } from '../../grpc-statuses.js';
import type {
  HookResult,
  IterationResult,
  OwnMetric,
  ScenarioFigures,
  StepFailureReason,
  StepResult,
} from '../../result.js';
import { convertDistribution } from '../distribution.js';

/** What JavaScript has measured of a run's hooks. */
export interface HookFigures {
  hooks: HookResult | null;
  metrics: Record<string, OwnMetric>;
}

/** What a result has where the run has no scenario. */
export const NO_SCENARIOS: ScenarioFigures = {
  iterations: null,
  scenarios: [],
  steps: [],
  checks: null,
  metrics: {},
  hooks: null,
};

/** Builds the figures of scenarios: those of the engine with the names of the plan, and those of JavaScript. */
export function buildScenarioFigures(
  { iterations, scenarios, steps }: NativeFlowOutcome,
  plan: FlowSummary,
  { hooks, metrics }: HookFigures,
  { durationMs, secrets }: { durationMs: number; secrets: Secrets },
): ScenarioFigures {
  const described = plan.scenarios.flatMap((scenario) =>
    scenario.steps.map((step) => ({ ...step, scenario: scenario.name })),
  );
  const results = steps.map((step, index) => describeStep(step, described[index], secrets));
  return {
    iterations: describeIterations(iterations, durationMs),
    scenarios: scenarios.map((one, index) => ({
      name: plan.scenarios[index]?.name ?? '',
      ...describeIterations(one, durationMs),
    })),
    steps: results,
    checks: sumChecks(results),
    metrics,
    hooks,
  };
}

function describeIterations(
  { counts, duration, active }: NativeScenarioOutcome,
  durationMs: number,
): IterationResult {
  const { started, completed, failed, inProgress, notStarted } = counts;
  return {
    ...{ started, completed, failed, inProgress, notStarted },
    rate: durationMs > 0 ? (completed * 1000) / durationMs : 0,
    durationMs: convertDistribution(duration.ms),
    activeMs: convertDistribution(active.ms),
    histograms: {
      unit: 'ns',
      duration: duration.histogram,
      durationCensored: duration.censored,
      active: active.histogram,
      activeCensored: active.censored,
    },
    sums: { unit: 'ns', duration: duration.sum, active: active.sum },
  };
}

/** Adds up the iterations of all scenarios. */
function describeStep(
  { failures, checks, saves }: NativeStepOutcome,
  step: (RequestStepSummary & { scenario: string }) | undefined,
  secrets: Secrets,
): StepResult {
  const maskExample = (text: string | undefined) =>
    text === undefined ? null : secrets.mask(nameStatus(text));
  return {
    scenario: step?.scenario ?? '',
    name: step?.name ?? '',
    failures: failures.map(({ reason, count, example }) => ({
      reason: reason as StepFailureReason,
      count,
      example: secrets.mask(nameStatus(example)),
    })),
    checks: checks.map(({ passed, failed, example }, index) => ({
      check: secrets.mask(step?.checks[index] ?? ''),
      ...{ passed, failed },
      example: maskExample(example),
    })),
    saves: saves.map(({ passed, failed, example }, index) => ({
      variable: step?.saves[index]?.variable ?? '',
      from: step?.saves[index]?.from ?? '',
      optional: step?.saves[index]?.optional ?? false,
      found: passed,
      missing: failed,
      example: maskExample(example),
    })),
  };
}

function sumChecks(steps: readonly StepResult[]): ScenarioFigures['checks'] {
  const checks = steps.flatMap((step) => step.checks);
  if (checks.length === 0) return null;
  return {
    passed: checks.reduce((sum, { passed }) => sum + passed, 0),
    failed: checks.reduce((sum, { failed }) => sum + failed, 0),
  };
}
