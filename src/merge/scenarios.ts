import type {
  CheckResult,
  GeneratorResult,
  IterationResult,
  LoadResult,
  OwnMetric,
  SaveResult,
  ScenarioFigures,
  StepFailureReason,
  StepResult,
} from '../load/result.js';
import { findPercentiles } from '../statistics/counted-values.js';
import { addCounts, chooseExample, readCount, readNumber, TimeSum, unite } from './counts.js';
import { DurationSum } from './durations.js';

/** The figures of the scenarios of several runs, added up. */
export class ScenarioSum {
  #iterations: IterationSum | null = null;
  readonly #scenarios = new Map<string, IterationSum>();
  #stepKeys: readonly string[] | null = null;
  readonly #steps = new Map<string, StepSum>();
  readonly #metrics = new Map<string, MetricSum>();
  #hooks: { calls: number; busy: TimeSum; wait: TimeSum } | null = null;
  #scenarioNames: readonly string[] | null = null;

  /** Adds the figures of a run. Throws a RangeError or TypeError if they are damaged. */
  add({ iterations, scenarios, steps, metrics, hooks }: ScenarioFigures): void {
    if (iterations !== null) {
      this.#iterations ??= new IterationSum();
      this.#iterations.add(iterations);
      const names = scenarios.map(({ name }) => name);
      this.#scenarioNames = unite(this.#scenarioNames ?? names, names);
      const keys = listKeys(steps, ({ scenario, name }) => `${scenario}\n${name}`);
      this.#stepKeys = unite(this.#stepKeys ?? keys, keys);
      for (const [index, step] of steps.entries()) {
        addNew(this.#steps, keys[index] ?? '', () => new StepSum()).add(step);
      }
    }
    for (const scenario of scenarios) {
      addNew(this.#scenarios, scenario.name, () => new IterationSum()).add(scenario);
    }
    for (const [name, metric] of Object.entries(metrics)) {
      addNew(this.#metrics, name, () => new MetricSum()).add(metric);
    }
    if (hooks !== null) {
      this.#hooks ??= { calls: 0, busy: new TimeSum(), wait: new TimeSum() };
      this.#hooks.calls += readCount(hooks.calls);
      this.#hooks.busy.add(hooks.busyMs);
      this.#hooks.wait.add(hooks.waitMs);
    }
  }

  finish(durationMs: number, generators: readonly GeneratorResult[]): ScenarioFigures {
    const hooks = this.#hooks;
    const steps = (this.#stepKeys ?? []).flatMap((key) => this.#steps.get(key)?.finish() ?? []);
    const names = [...this.#metrics.keys()].sort();
    return {
      iterations: this.#iterations?.finish(durationMs) ?? null,
      scenarios: (this.#scenarioNames ?? []).flatMap((name) => {
        const sum = this.#scenarios.get(name);
        return sum ? [{ name, ...sum.finish(durationMs) }] : [];
      }),
      steps,
      checks: sumChecks(steps),
      metrics: Object.fromEntries(
        names.flatMap((name) => {
          const metric = this.#metrics.get(name)?.finish(name, generators);
          return metric ? [[name, metric]] : [];
        }),
      ),
      hooks: hooks && { calls: hooks.calls, busyMs: hooks.busy.ms, waitMs: hooks.wait.ms },
    };
  }
}

/** Returns the value of a key, which is created if there is none. */
function addNew<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}

/** Names items by what they are, and by their number among those that are the same. */
function listKeys<Item>(items: readonly Item[], name: (item: Item) => string): string[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const key = name(item);
    const number = (seen.get(key) ?? 0) + 1;
    seen.set(key, number);
    return `${key}\n${number}`;
  });
}

const NO_ITERATIONS = { started: 0, completed: 0, failed: 0, inProgress: 0, notStarted: 0 };

class IterationSum {
  readonly #counts = { ...NO_ITERATIONS };
  readonly #duration = new DurationSum();
  readonly #active = new DurationSum();

  add(iterations: IterationResult): void {
    addCounts(this.#counts, iterations);
    const { histograms, sums } = iterations;
    this.#duration.add({
      ...{ all: histograms.duration, censored: histograms.durationCensored },
      ...{ sum: sums.duration, ms: iterations.durationMs },
    });
    this.#active.add({
      ...{ all: histograms.active, censored: histograms.activeCensored },
      ...{ sum: sums.active, ms: iterations.activeMs },
    });
  }

  finish(durationMs: number): IterationResult {
    const [duration, active] = [this.#duration.finish(), this.#active.finish()];
    return {
      ...this.#counts,
      rate: durationMs > 0 ? (this.#counts.completed * 1000) / durationMs : 0,
      durationMs: duration.ms,
      activeMs: active.ms,
      histograms: {
        unit: 'ns',
        duration: duration.all,
        durationCensored: duration.censored,
        active: active.all,
        activeCensored: active.censored,
      },
      sums: { unit: 'ns', duration: duration.sum, active: active.sum },
    };
  }
}

class StepSum {
  #step: Pick<StepResult, 'scenario' | 'name'> = { scenario: '', name: '' };
  readonly #failures = new Map<StepFailureReason, { count: number; example: string }>();
  #checkKeys: readonly string[] | null = null;
  readonly #checks = new Map<string, CheckResult>();
  #saveKeys: readonly string[] | null = null;
  readonly #saves = new Map<string, SaveResult>();

  add({ scenario, name, failures, checks, saves }: StepResult): void {
    this.#step = { scenario, name };
    for (const { reason, count, example } of failures) {
      const known = this.#failures.get(reason);
      this.#failures.set(reason, {
        count: (known?.count ?? 0) + readCount(count),
        example: chooseExample(known?.example ?? null, example) ?? example,
      });
    }
    const checkKeys = listKeys(checks, ({ check }) => check);
    this.#checkKeys = unite(this.#checkKeys ?? checkKeys, checkKeys);
    for (const [index, check] of checks.entries()) {
      const none = () => ({ check: check.check, passed: 0, failed: 0, example: null });
      const sum = addNew(this.#checks, checkKeys[index] ?? '', none);
      sum.passed += readCount(check.passed);
      sum.failed += readCount(check.failed);
      sum.example = chooseExample(sum.example, check.example);
    }
    const saveKeys = listKeys(saves, ({ variable, from }) => `${variable}\n${from}`);
    this.#saveKeys = unite(this.#saveKeys ?? saveKeys, saveKeys);
    for (const [index, save] of saves.entries()) {
      const none = () => ({ ...save, found: 0, missing: 0, example: null });
      const sum = addNew<SaveResult>(this.#saves, saveKeys[index] ?? '', none);
      sum.found += readCount(save.found);
      sum.missing += readCount(save.missing);
      sum.example = chooseExample(sum.example, save.example);
    }
  }

  finish(): StepResult {
    return {
      ...this.#step,
      failures: REASONS.flatMap((reason) => {
        const failure = this.#failures.get(reason);
        return failure ? [{ reason, ...failure }] : [];
      }),
      checks: (this.#checkKeys ?? []).flatMap((key) => this.#checks.get(key) ?? []),
      saves: (this.#saveKeys ?? []).flatMap((key) => this.#saves.get(key) ?? []),
    };
  }
}

/** In the order in which runs have them. */
const REASONS: readonly StepFailureReason[] = [
  ...(['status', 'transport', 'check', 'save', 'variable', 'header', 'body', 'hook'] as const),
];

function sumChecks(steps: readonly StepResult[]): LoadResult['checks'] {
  const checks = steps.flatMap((step) => step.checks);
  if (checks.length === 0) return null;
  return {
    passed: checks.reduce((sum, { passed }) => sum + passed, 0),
    failed: checks.reduce((sum, { failed }) => sum + failed, 0),
  };
}

class MetricSum {
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  readonly #counts = new Map<number, number>();

  add({ min, max, histogram }: OwnMetric): void {
    this.#min = Math.min(this.#min, readNumber(min));
    this.#max = Math.max(this.#max, readNumber(max));
    for (const [value, count] of histogram) {
      const sum = (this.#counts.get(readNumber(value)) ?? 0) + readCount(count);
      this.#counts.set(value, readCount(sum));
    }
  }

  /** Sums of fractions depend on the order: those of the generators are added up in theirs. */
  finish(name: string, generators: readonly GeneratorResult[]): OwnMetric {
    const parts = generators.flatMap(({ metrics }) => metrics?.[name] ?? []);
    const count = parts.reduce((all, part) => all + part.count, 0);
    const sum = parts.reduce((all, part) => all + part.sum, 0);
    const mean = sum / count;
    const squares = parts.reduce(
      (all, part) =>
        all + part.stdev ** 2 * (part.count - 1) + part.count * (part.mean - mean) ** 2,
      0,
    );
    const histogram = [...this.#counts].sort(([one], [other]) => one - other);
    return {
      ...{ count, sum, min: this.#min, mean },
      stdev: count < 2 ? 0 : Math.sqrt(squares / (count - 1)),
      ...findPercentiles(histogram),
      max: this.#max,
      histogram,
    };
  }
}
