import { usageError } from '../../errors/millrace-error.js';

/** A step with the variables that its texts use, and those that it sets. */
export interface VariableUse {
  /** Where it stands, for messages. */
  where: string;
  /** Its name; absent if it sends nothing. */
  step?: string;
  uses: string[];
  sets: string[];
  /** Whether JavaScript may set others before it, or after it. */
  setsAny: 'before' | 'after' | null;
  /** Numbers of the loops around it. */
  loops: number[];
}

/** Placeholders that are no variables. */
const BUILT_IN = /^(?:seq|uuid|random:.*|csv:.*)$/;

/** Names of variables. */
const NAME = /^[A-Za-z_$][\w.$-]*$/;

/** Lists the variables among the placeholders of texts. */
export function listVariables(texts: readonly string[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    for (const [, inner = ''] of text.matchAll(/\{\{(.*?)\}\}/gs)) {
      const name = inner.trim().replace(/^raw:/, '');
      if (!BUILT_IN.test(name) && NAME.test(name)) names.add(name);
    }
  }
  return [...names];
}

/** Refuses texts in which a placeholder is written as in JavaScript, or has lost a brace; `names`: variables. */
export function checkSpelling(
  texts: readonly string[],
  names: readonly string[],
  where: string,
): void {
  for (const text of texts) {
    const open = /\{\{(?:(?!\}\}).)*$/s.exec(text);
    if (open) {
      throw usageError(`${where}: '${open[0].slice(0, 40)}' has no }} at its end`);
    }
    const [written, name] = /\$\{([\w$.-]+)\}/.exec(text) ?? [];
    if (name !== undefined && names.includes(name)) {
      throw usageError(`${where}: ${written} is sent as it is; the variable is {{${name}}}`);
    }
  }
}

/** Checks the name of a variable. */
export function checkVariableName(name: string, where: string): void {
  if (NAME.test(name) && !BUILT_IN.test(name)) return;
  throw usageError(
    `${where}: '${name}' is no name of a variable: letters, digits, _, . and -, but not seq or uuid`,
  );
}

/** Refuses variables that no step before has set; `initial`: those that are known from the beginning, `null` if any may be. */
export function checkVariables(
  steps: readonly VariableUse[],
  initial: readonly string[] | null,
): void {
  if (initial === null) return;
  const known = new Set(initial);
  let isOpen = false;
  for (const [index, use] of steps.entries()) {
    const { where, uses, sets, setsAny, loops } = use;
    isOpen ||= setsAny === 'before';
    const inLoop = steps
      .slice(index)
      .filter((other) => other.loops.some((it) => loops.includes(it)));
    for (const name of uses) {
      if (known.has(name) || isOpen || inLoop.some((other) => other.sets.includes(name))) continue;
      const later = steps.slice(index).find((other) => other.sets.includes(name));
      const hint = later
        ? `it is saved only by ${later === use ? 'this step itself' : `step '${later.step}', which comes later`}`
        : known.size > 0
          ? `known here are ${[...known].map((it) => `{{${it}}}`).join(', ')}`
          : 'no step before saves a value';
      throw usageError(
        `${where}: {{${name}}} has no value: ${hint}; others are {{seq}}, {{random:1-100}}, {{uuid}}, {{csv:FILE:COLUMN}}`,
      );
    }
    for (const name of sets) known.add(name);
    isOpen ||= setsAny === 'after';
  }
}
