import { usageError } from '../../errors/millrace-error.js';
import type { ScenarioModule, ScenarioOption } from '../../scenario/module.js';
import { isScenario, type Scenario } from '../../scenario/scenario.js';
import type { RequestStep, Step } from '../../scenario/steps.js';
import { describeValue, isObject } from '../../validation/shape.js';

/** Scenarios, with what is to be done before and after them. */
export interface ReadScenarios {
  scenarios: readonly Scenario[];
  setup?: ScenarioModule['setup'];
  teardown?: ScenarioModule['teardown'];
}

/** A request step, with its place. */
export interface LocatedStep {
  step: RequestStep;
  scenario: Scenario;
  where: string;
}

/** Says where a step or scenario stands, for messages. */
export function describePlace(place: string | null | undefined, scenario: Scenario): string {
  const name = `scenario '${scenario.name}'`;
  return place ? `${place}: ${name}` : name;
}

/** Most nested steps. */
const MAX_DEPTH = 30;

/** Reads the option `scenario`: a scenario, several, or what a module exports. */
export function readScenarios(option: ScenarioOption): ReadScenarios {
  if (isScenario(option)) return finish([option]);
  if (Array.isArray(option)) return finish(option);
  if (!isObject(option) || option instanceof URL) throw refuse(option);
  const module = unwrapExports(option as ScenarioModule);
  const found = new Set<Scenario>();
  if (Array.isArray(module.default)) {
    const other = module.default.find((value) => !isScenario(value));
    if (other !== undefined) throw refuse(other);
  }
  for (const value of [module.default, ...Object.values(module)].flat()) {
    if (isScenario(value)) found.add(value);
  }
  for (const name of ['setup', 'teardown'] as const) {
    if (module[name] !== undefined && typeof module[name] !== 'function') {
      throw usageError(`${name} must be a function (got ${describeValue(module[name])})`);
    }
  }
  const { setup, teardown } = module;
  return { ...finish([...found]), ...(setup && { setup }), ...(teardown && { teardown }) };
}

/** Adds what a CommonJS module exports: Node imports it as the default export, and finds only some of the names. */
function unwrapExports(module: ScenarioModule): ScenarioModule {
  const { default: own, ...named } = module;
  if (!isObject(own) || Array.isArray(own) || isScenario(own)) return module;
  return { ...named, ...(own as unknown as ScenarioModule) };
}

function finish(scenarios: readonly unknown[]): ReadScenarios {
  if (scenarios.length === 0) {
    throw usageError('no scenario: export default scenario(NAME, [...]) of millrace/scenario');
  }
  const names = new Set<string>();
  for (const scenario of scenarios) {
    if (!isScenario(scenario)) throw refuse(scenario);
    if (names.has(scenario.name)) {
      const where = scenario.place ? `${scenario.place}: ` : '';
      throw usageError(`${where}two scenarios have the name '${scenario.name}'`);
    }
    names.add(scenario.name);
    checkSteps(scenario.steps, scenario, []);
  }
  return { scenarios: scenarios as Scenario[] };
}

function refuse(value: unknown): Error {
  return usageError(
    `a scenario is what scenario() of millrace/scenario returns (got ${describeValue(value)})`,
  );
}

function checkSteps(
  steps: readonly Step[],
  scenario: Scenario,
  around: readonly (readonly Step[])[],
  place = scenario.place,
): void {
  const where = describePlace(place, scenario);
  if (around.includes(steps)) {
    throw usageError(`${where}: a repeat or when contains itself, and would never end`);
  }
  if (around.length > MAX_DEPTH) {
    throw usageError(`${where}: steps may be nested ${MAX_DEPTH} times`);
  }
  for (const step of steps) {
    if ('steps' in step) checkSteps(step.steps, scenario, [...around, steps], step.place);
  }
}

/** Lists the request steps of scenarios, depth first. */
export function listRequestSteps(scenarios: readonly Scenario[]): LocatedStep[] {
  const list = (steps: readonly Step[], scenario: Scenario): LocatedStep[] =>
    steps.flatMap((step) => {
      if (step.kind === 'request') {
        const where = `${describePlace(step.place, scenario)}, step '${step.name}'`;
        return [{ step, scenario, where }];
      }
      return 'steps' in step ? list(step.steps, scenario) : [];
    });
  return scenarios.flatMap((scenario) => list(scenario.steps, scenario));
}
