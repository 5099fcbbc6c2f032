import { listAlternatives, mustBe } from '../../validation/shape.js';
import { parseCount, parseFlagDuration, parseRate, type Range } from '../../validation/units.js';
import type { Flag } from './flag.js';

/** The description of a flag: everything but its name and the way it stores its value. */
type Description = Omit<Flag<never>, 'name' | 'set' | 'bare'>;

/** The fields of `Target` that can store a value of this type. */
type FieldsFor<Target, Value> = {
  [Field in keyof Target]-?: Value extends Target[Field] ? Field : never;
}[keyof Target];

/** Builders of flags that only store their value in a field: one builder per kind of value. */
export interface FlagKinds<Into, Target> {
  /** A switch that stores `stored`. */
  toggle<Field extends keyof Target>(
    name: string,
    field: Field,
    stored: Target[Field],
    description: Description,
  ): Flag<Into>;
  /** Text, stored unchanged. */
  text(
    name: string,
    field: FieldsFor<Target, string>,
    description: Description & { value: string },
  ): Flag<Into>;
  /** A value that `parse` reads from the text. */
  parsed<Field extends keyof Target>(
    name: string,
    field: Field,
    parse: (value: string, flag: string) => NonNullable<Target[Field]>,
    description: Description & { value: string },
  ): Flag<Into>;
  /** Text of a flag that may be repeated, stored as a list. */
  list(
    name: string,
    field: FieldsFor<Target, string[]>,
    description: Description & { value: string },
  ): Flag<Into>;
  /** One of several words. */
  choice<Field extends keyof Target>(
    name: string,
    field: Field,
    choices: readonly (Target[Field] & string)[],
    description: Description,
  ): Flag<Into>;
  /** A duration of at least `minMs`, stored in milliseconds. */
  duration(
    name: string,
    field: FieldsFor<Target, number>,
    description: Description,
    minMs?: number,
  ): Flag<Into>;
  /** A whole number within a range. */
  count(
    name: string,
    field: FieldsFor<Target, number>,
    range: Range,
    description: Description,
  ): Flag<Into>;
  /** A rate, stored per second. */
  rate(
    name: string,
    field: FieldsFor<Target, number>,
    range: Range,
    description: Description,
  ): Flag<Into>;
}

/** Creates the builders of flags that store their value in a part of an invocation, which `select` returns. */
export function storeIn<Into, Target extends object>(
  select: (into: Into) => Target,
): FlagKinds<Into, Target> {
  const store = (
    name: string,
    field: PropertyKey,
    description: Description,
    parse: (value: string, flag: string, target: Target) => unknown,
  ): Flag<Into> => ({
    name,
    ...description,
    set(into, value, flag) {
      const target = select(into);
      Object.assign(target, { [field]: parse(value, flag, target) });
    },
  });
  return {
    toggle: (name, field, stored, description) => store(name, field, description, () => stored),
    text: (name, field, description) => store(name, field, description, (value) => value),
    parsed: (name, field, parse, description) => store(name, field, description, parse),
    list: (name, field, description) =>
      store(name, field, { repeatable: true, ...description }, (value, _, target) => [
        ...((target[field] as string[] | undefined) ?? []),
        value,
      ]),
    choice: (name, field, choices, description) =>
      store(name, field, { value: 'MODE', ...description }, (value, flag) => {
        if (!choices.some((choice) => choice === value)) {
          throw mustBe(flag, listAlternatives(choices), value);
        }
        return value;
      }),
    duration: (name, field, description, minMs = 0) =>
      store(name, field, { value: 'TIME', ...description }, (value, flag) => {
        const ms = parseFlagDuration(value, flag);
        if (ms < minMs) throw mustBe(flag, `at least ${minMs / 1000}s`, value);
        return ms;
      }),
    count: (name, field, range, description) =>
      store(name, field, { value: 'N', ...description }, (value, flag) =>
        parseCount(value, flag, range),
      ),
    rate: (name, field, range, description) =>
      store(name, field, { value: 'RATE', ...description }, (value, flag) =>
        parseRate(value, flag, range),
      ),
  };
}
