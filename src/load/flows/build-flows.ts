import { usageError } from '../../errors/millrace-error.js';
import type { NativeFlows, NativeRequest, NativeSave, NativeStep } from '../../native/addon.js';
import type { AfterHook, BeforeHook } from '../../scenario/hooks.js';
import type { Scenario } from '../../scenario/scenario.js';
import { isSource } from '../../scenario/sources.js';
import type { RequestStep, Step } from '../../scenario/steps.js';
import { describeValue } from '../../validation/shape.js';
import type { FlowSummary, RequestStepSummary } from '../flow-summary.js';
import { checkPlaceholders } from '../requests/placeholders.js';
import { buildChecks, NO_JSON } from './checks.js';
import { readPause } from './pause.js';
import {
  checkSpelling,
  checkVariableName,
  checkVariables,
  listVariables,
  type VariableUse,
} from './placeholders.js';
import { describePlace } from './read-scenarios.js';
import { buildSource, describeSource } from './sources.js';

/** A hook of a step, by its number in the engine's plan. */
export type Hook = { before: BeforeHook } | { after: AfterHook };

/** The scenarios of a run in the engine's form. */
export interface BuiltFlows {
  native: Pick<NativeFlows, 'scenarios' | 'variables' | 'initial'>;
  summary: FlowSummary['scenarios'];
  hooks: Hook[];
  /** Texts with placeholders that stand outside of requests. */
  texts: string[];
}

/**
 * Builds the flows of scenarios; `requests` are those of their steps, in order. `data` is what `setup()` returned; `undefined`
 * before it was called.
 */
export function buildFlows(
  scenarios: readonly Scenario[],
  requests: readonly NativeRequest[],
  data: unknown,
  hasSetup: boolean,
): BuiltFlows {
  const initial = readInitial(data);
  const builder = new FlowBuilder(requests, Object.keys(initial));
  const built = scenarios.map((scenario) => ({
    name: scenario.name,
    weight: scenario.weight,
    cookies: scenario.cookies,
    follow: scenario.follow,
    steps: builder.buildScenario(scenario, hasSetup && data === undefined),
  }));
  builder.checkPlaceholders();
  const variables = builder.variables;
  return {
    native: {
      scenarios: built,
      variables,
      initial: Object.entries(initial).map(([name, json]) => ({
        variable: variables.indexOf(name),
        json,
      })),
    },
    summary: scenarios.map(({ name, weight }, index) => ({
      name,
      weight,
      steps: builder.summaries[index] ?? [],
    })),
    hooks: builder.hooks,
    texts: builder.texts,
  };
}

/** Variables from what `setup()` returned, as JSON texts. */
function readInitial(data: unknown): Record<string, string> {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return {};
  const initial: Record<string, string> = {};
  for (const name of Object.keys(data)) {
    const json = toJson(data, name);
    // What is no value of JSON is for hooks alone.
    if (json === undefined) continue;
    checkVariableName(name, 'setup');
    initial[name] = json;
  }
  return initial;
}

function toJson(data: object, name: string): string | undefined {
  try {
    return JSON.stringify((data as Record<string, unknown>)[name]);
  } catch {
    // A property that throws, a bigint, or an object that contains itself, such as a connection.
    return undefined;
  }
}

class FlowBuilder {
  readonly variables: string[];
  readonly hooks: Hook[] = [];
  readonly texts: string[] = [];
  readonly #checks: { where: string; texts: string[] }[] = [];
  readonly summaries: RequestStepSummary[][] = [];
  readonly #requests: readonly NativeRequest[];
  readonly #initial: readonly string[];
  #next = 0;
  #loops = 0;

  constructor(requests: readonly NativeRequest[], initial: readonly string[]) {
    this.#requests = requests;
    this.#initial = initial;
    this.variables = [...initial];
  }

  /** Builds the steps of a scenario; `isDraft`: variables of `setup()` are not known yet. */
  buildScenario(scenario: Scenario, isDraft: boolean): NativeStep[] {
    this.summaries.push([]);
    const uses: VariableUse[] = [];
    const steps = this.#buildSteps(scenario.steps, scenario, [], uses);
    checkVariables(uses, isDraft ? null : this.#initial);
    return steps;
  }

  /** Refuses placeholders that are neither known nor variables. */
  checkPlaceholders(): void {
    for (const { where, texts } of this.#checks) checkPlaceholders(texts, this.variables, where);
  }

  #checkLater(where: string, texts: string[]): void {
    const templates = texts.filter((text) => text.includes('{{'));
    if (templates.length > 0) this.#checks.push({ where, texts: templates });
  }

  #variable(name: string): number {
    const index = this.variables.indexOf(name);
    return index >= 0 ? index : this.variables.push(name) - 1;
  }

  #buildSteps(
    steps: readonly Step[],
    scenario: Scenario,
    loops: number[],
    uses: VariableUse[],
  ): NativeStep[] {
    return steps.map((step) => this.#buildStep(step, scenario, loops, uses));
  }

  #buildStep(step: Step, scenario: Scenario, loops: number[], uses: VariableUse[]): NativeStep {
    const where = describePlace(step.place, scenario);
    switch (step.kind) {
      case 'request':
        return this.#buildRequest(step, `${where}, step '${step.name}'`, loops, uses);
      case 'pause':
        return { pause: readPause(step.time, where) };
      case 'repeat': {
        const inner = [...loops, this.#loops++];
        const steps = this.#buildSteps(step.steps, scenario, inner, uses);
        return { repeat: { count: step.count, steps } };
      }
      case 'when': {
        const { left, operator, right } = step;
        this.#checkLater(`${where}, when`, [left, right]);
        this.texts.push(left, right);
        const names = listVariables([left, right]);
        for (const name of names) this.#variable(name);
        uses.push({ where: `${where}, when`, uses: names, sets: [], setsAny: null, loops });
        const steps = this.#buildSteps(step.steps, scenario, loops, uses);
        return { when: { left, operator, right, steps } };
      }
    }
  }

  #buildRequest(
    step: RequestStep,
    where: string,
    loops: number[],
    uses: VariableUse[],
  ): NativeStep {
    const index = this.#next++;
    const request = this.#requests[index];
    if (!request) throw new Error('a step without a request');
    const { target, headers, body } = request;
    const requestTexts = [
      target,
      ...headers.map(({ value }) => value),
      body?.toString('utf8') ?? '',
    ];
    const expect = step.call ? { status: 'OK', ...step.expect } : step.expect;
    const checks = buildChecks(expect, where, step.call !== undefined);
    const tested = checks.flatMap(({ native }) =>
      native.kind === 'matches' || native.text === undefined ? [] : [native.text],
    );
    this.texts.push(...tested);
    this.#checkLater(where, [...requestTexts, ...tested]);
    checkSpelling([target, ...headers.map(({ value }) => value)], this.variables, where);
    const saves = buildSaves(step, where, (name) => this.#variable(name));
    const names = listVariables([...requestTexts, ...tested]);
    for (const name of names) this.#variable(name);
    uses.push({
      where,
      step: step.name,
      uses: names,
      sets: saves.map(({ name }) => name),
      setsAny: step.before ? 'before' : step.after ? 'after' : null,
      loops,
    });
    this.summaries.at(-1)?.push({
      name: step.name,
      checks: checks.map(({ text }) => text),
      saves: saves.map(({ name, from, native }) => ({
        variable: name,
        from,
        optional: native.optional,
      })),
    });
    return {
      request: {
        request: index,
        saves: saves.map(({ native }) => native),
        checks: checks.map(({ native }) => native),
        continues: step.onError === 'continue',
        ...(step.before && { before: this.hooks.push({ before: step.before }) - 1 }),
        ...(step.after && { after: this.hooks.push({ after: step.after }) - 1 }),
      },
    };
  }
}

interface BuiltSave {
  name: string;
  from: string;
  native: NativeSave;
}

function buildSaves(
  { save = {}, call }: RequestStep,
  where: string,
  variable: (name: string) => number,
): BuiltSave[] {
  return Object.entries(save).map(([name, source]) => {
    const place = `${where}: save.${name}`;
    checkVariableName(name, place);
    if (!isSource(source)) {
      throw usageError(
        `${place} is json(), header(), cookie(), regex(), body() or status() (got ${describeValue(source)})`,
      );
    }
    if (call && source.kind === 'json') throw usageError(`${place}: ${NO_JSON}`);
    const native: NativeSave = {
      variable: variable(name),
      source: buildSource(source, place),
      optional: source.optional,
    };
    return { name, from: describeSource(source), native };
  });
}
