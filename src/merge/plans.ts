import { MillraceError } from '../errors/millrace-error.js';
import type { GeneratorResult, LoadResult, PlanDifference, PlanSummary } from '../load/result.js';
import { nameGenerator } from '../load/segment.js';
import { findDifferentPart, formatPart, readPart } from '../validation/different-part.js';
import { describeValue } from '../validation/shape.js';
import { unite } from './counts.js';
import { compareGenerators } from './generators.js';

/** What each run has of its own: where it was, its share, and with which seed it was, unless it is a share. */
const OWN = [
  ...['segment', 'addresses', 'localAddresses', 'threads', 'command', 'seed'],
  ...['connections', 'initialConnections', 'connectionStages'],
  ...['rate', 'stages', 'requests', 'maxPending', 'flows', 'grpc'],
];

/** The plans of several runs: equal, or with differences that are allowed. */
export class PlanSum {
  readonly #allowDifference: boolean;
  /** Values of each field as JSON, with the name of the run that had it first. */
  readonly #values = new Map<string, Map<string, string>>();
  /** The run that comes first in the merged result, and its plan. */
  #first: { generator: GeneratorResult; plan: PlanSummary } | null = null;
  #addresses = new Set<string>();
  #localAddresses = new Set<string>();
  #threads = 0;
  #command: string[] | null | undefined;
  #conditions: readonly string[] | undefined;

  constructor(allowDifference: boolean) {
    this.#allowDifference = allowDifference;
  }

  /** Adds the plan of a result. Throws `ERR_MILLRACE_DIFFERENT` where it differs and must not. */
  add(result: LoadResult, generators: readonly GeneratorResult[], position: number): void {
    const { plan } = result;
    const known = new Map((result.differences ?? []).map(({ field, values }) => [field, values]));
    const [any] = generators;
    if (!any) throw new RangeError('no generators');
    const name = nameGenerator(any, position);
    for (const [field, values] of [...listOwn(plan), ...generators.flatMap(listShare)]) {
      this.#compare(field, known.get(field) ?? [values], name);
    }
    const generator = generators.reduce((a, b) => (compareGenerators(b, a) < 0 ? b : a), any);
    if (this.#first === null || compareGenerators(generator, this.#first.generator) < 0) {
      this.#first = { generator, plan };
    }
    for (const address of plan.addresses) this.#addresses.add(address);
    for (const address of plan.localAddresses) this.#localAddresses.add(address);
    this.#threads += plan.threads;
    const isSame = JSON.stringify(this.#command ?? plan.command) === JSON.stringify(plan.command);
    this.#command = this.#command === null || !isSame ? null : plan.command;
  }

  /** Adds conditions that the result is judged by; without conditions of the caller's own they must be equal. */
  addConditions(result: LoadResult, name: string): void {
    const texts = (result.conditions ?? []).map(({ condition }) => condition);
    const known = (result.differences ?? []).find(({ field }) => field === 'failOn');
    this.#compare('failOn', known?.values ?? [JSON.stringify(texts)], name);
    this.#conditions = unite(this.#conditions ?? texts, texts);
  }

  get conditions(): readonly string[] {
    return this.#conditions ?? [];
  }

  #compare(field: string, values: readonly string[], name: string): void {
    const known = this.#values.get(field) ?? new Map<string, string>();
    this.#values.set(field, known);
    for (const value of values) {
      const [[of, owner] = []] = known;
      if (of !== undefined && owner !== undefined && !known.has(value) && !this.#allowDifference) {
        throw new MillraceError(
          'ERR_MILLRACE_DIFFERENT',
          `the plans differ: ${describeDifference(field, of, owner, value, name)}; --allow-difference merges them all the same`,
        );
      }
      if (!known.has(value)) known.set(value, name);
    }
  }

  /** Lists the differences, by field. */
  get differences(): PlanDifference[] {
    return [...this.#values]
      .filter(([, values]) => values.size > 1)
      .map(([field, values]) => ({ field, values: [...values.keys()].sort() }))
      .sort((one, other) => (one.field < other.field ? -1 : 1));
  }

  /** Returns the plan of the first run, with what all of them have. */
  finish(): PlanSummary {
    if (this.#first === null) throw new RangeError('no plan');
    const { segment, ...plan } = this.#first.plan;
    return {
      ...plan,
      addresses: [...this.#addresses].sort(),
      localAddresses: [...this.#localAddresses].sort(),
      threads: this.#threads,
      command: this.#command ?? null,
    };
  }
}

type Field = [name: string, json: string];

/** The fields that all runs have alike, as JSON. What users do, without their number. */
function listOwn(plan: PlanSummary): Field[] {
  const fields = Object.entries(plan).filter(([name]) => !OWN.includes(name));
  const { users: _, ...flows } = plan.flows ?? { users: 0 };
  const absent = [['grpc', plan.grpc ?? null] as const, ['flows', flows] as const];
  return [...fields, ...absent].map(([name, value]) => [name, JSON.stringify(value)]);
}

/** What the shares of a run have together, or each of several whole runs has; seeds of shares are those of the run. */
function listShare({ segment, share, seed }: GeneratorResult): Field[] {
  const fields: Field[] = Object.entries(segment?.whole ?? share).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ]);
  return segment ? [...fields, ['seed', `${seed}`]] : fields;
}

function describeDifference(
  field: string,
  ...[of, owner, json, name]: [of: string, owner: string, json: string, name: string]
): string {
  const [one, other]: unknown[] = [JSON.parse(of), JSON.parse(json)];
  const path = findDifferentPart(one, other);
  const [first, second] = [one, other].map((value) => describeValue(readPart(value, path)));
  return `${formatPart(field, path)} is ${first} in '${owner}', ${second} in '${name}'`;
}
