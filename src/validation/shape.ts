import { inspect } from 'node:util';
import { type MillraceError, usageError } from '../errors/millrace-error.js';
import { findNearest } from './nearest.js';

// Checks the types of the options of the API: a program without types can pass anything.

/** Throws a usage error for a value that the option `name` does not accept. */
export type Shape = (value: unknown, name: string) => void;

/** A shape for each field of `Options`: a field without one is a misspelt option. */
export type Shapes<Options> = Record<keyof Options, Shape>;

/** Names that options do not have, and the options that are meant by them, or what to give in a few words. */
export type OtherNames<Options> = Record<string, (keyof Options & string) | `it is ${string}`>;

export const text = shape('text', (value) => typeof value === 'string');
export const flag = shape('true or false', (value) => typeof value === 'boolean');
export const count = shape("a number, or text such as '10k'", isNumberOrText);
export const rate = shape("a number, or text such as '50/1s'", isNumberOrText);
export const duration = shape("milliseconds, or text with a unit such as '10s'", isNumberOrText);
export const size = shape("bytes, or text such as '16k'", isNumberOrText);
export const number = shape('a number', (value) => typeof value === 'number');

/** Accepts the values that `fits` accepts; `accepted` names them in a message. */
export function shape(accepted: string, fits: (value: unknown) => boolean): Shape {
  return (value, name) => {
    if (!fits(value)) throw mustBe(name, accepted, value);
  };
}

/** The error for a value that is not `accepted`: `-c must be a whole number from 1 to 100 (got x)`. */
export function mustBe(name: string, accepted: string, value: unknown): MillraceError {
  return usageError(`${name} must be ${accepted} (got ${describeGiven(name, value)})`);
}

/** The value of a flag as it was typed, in quotes where it has spaces or is empty; that of an option of the API as code. */
function describeGiven(name: string, value: unknown): string {
  const isTyped =
    name.startsWith('-') && typeof value === 'string' && /^[^\s'"]{1,60}$/.test(value);
  return isTyped ? String(value) : describeValue(value);
}

/** `a, b or c`. */
export function listAlternatives(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

/** Accepts one of these words. */
export function oneOf(...words: string[]): Shape {
  return shape(listAlternatives(words), (value) => words.some((word) => word === value));
}

/** Accepts a list of values that `each` accepts. */
export function listOf(accepted: string, each: Shape): Shape {
  const list = shape(accepted, Array.isArray);
  return (value, name) => {
    list(value, name);
    for (const [index, item] of (value as unknown[]).entries()) each(item, `${name}[${index}]`);
  };
}

/** Accepts an object with these fields and no other. */
export function objectOf<Fields>(
  accepted: string,
  fields: Shapes<Fields>,
  required: (keyof Fields)[],
): Shape {
  const isWhole = (value: object) =>
    required.every((field) => (value as Partial<Fields>)[field] !== undefined);
  const object = shape(accepted, (value) => isObject(value) && isWhole(value));
  return (value, name) => {
    object(value, name);
    checkFields(value as object, fields, (field) => [`${name}.${field}`, `${name}: unknown field`]);
  };
}

/** Throws a usage error for options that are not an object, have an unknown name, or a value of another shape. `undefined` counts as absent. */
export function checkOptions<Options>(
  options: unknown,
  shapes: Shapes<Options>,
  otherNames: OtherNames<Options> = {},
): void {
  shape('an object', isObject)(options, 'options');
  checkFields(options as object, shapes, (field) => [field, 'unknown option'], otherNames);
}

/** Reports whether a value is an object and not a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports whether the entries of an object are iterated, as those of a list, a `Map` or a `Headers`. */
export function isIterable(value: object): value is Iterable<unknown> {
  return typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function';
}

/** A value of any type as code in one line, for a message. */
export function describeValue(value: unknown): string {
  // Inspecting an error would show its stack.
  const text = inspect(value instanceof Error ? String(value) : value, {
    depth: 0,
    breakLength: Infinity,
    maxStringLength: 60,
    maxArrayLength: 3,
  });
  return text.replace(/\s*\n\s*/g, ' ');
}

function checkFields<Fields>(
  given: object,
  shapes: Shapes<Fields>,
  naming: (field: string) => [name: string, unknown: string],
  otherNames: OtherNames<Fields> = {},
): void {
  const known: Record<string, Shape> = shapes;
  for (const [field, value] of Object.entries(given)) {
    const [name, unknown] = naming(field);
    const check = Object.hasOwn(known, field) ? known[field] : undefined;
    if (check === undefined) {
      if (Object.hasOwn(otherNames, field)) {
        const other = otherNames[field] ?? '';
        const advice = Object.hasOwn(known, other) ? `it is called '${other}'` : other;
        throw usageError(`${unknown} '${field}'; ${advice}`);
      }
      const near = findNearest(field, Object.keys(known));
      throw usageError(`${unknown} '${field}'${near ? `; did you mean '${near}'?` : ''}`);
    }
    if (value !== undefined) check(value, name);
  }
}

function isNumberOrText(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'string';
}
