import { inspect } from 'node:util';
import { usageError } from '../errors.js';
import { nearest } from './nearest.js';

// What the options of the API may be: a program without types can pass anything.

/** Refuses a value that cannot be used as `name`. */
export type Shape = (value: unknown, name: string) => void;

/** One shape for each field of `Options`, so that a misspelt one is noticed. */
export type Shapes<Options> = Record<keyof Options, Shape>;

export const text = shape('text', (value) => typeof value === 'string');
export const flag = shape('true or false', (value) => typeof value === 'boolean');
export const count = shape("a number, or text such as '10k'", isNumberOrText);
export const rate = shape("a number, or text such as '50/1s'", isNumberOrText);
export const duration = shape("milliseconds, or text such as '10s'", isNumberOrText);
export const size = shape("bytes, or text such as '16k'", isNumberOrText);
export const number = shape('a number', (value) => typeof value === 'number');

/** What `fits`; `accepted` says so in a message. */
export function shape(accepted: string, fits: (value: unknown) => boolean): Shape {
  return (value, name) => {
    if (!fits(value)) throw usageError(`${name}: ${shown(value)} given; accepted: ${accepted}`);
  };
}

/** One of these words. */
export function oneOf(...words: string[]): Shape {
  return shape(words.join(', '), (value) => words.some((word) => word === value));
}

/** A list of what `each` takes. */
export function listOf(accepted: string, each: Shape): Shape {
  const list = shape(accepted, Array.isArray);
  return (value, name) => {
    list(value, name);
    for (const [index, item] of (value as unknown[]).entries()) each(item, `${name}[${index}]`);
  };
}

/** An object with these fields and no other. */
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

/** Refuses options that are no object, hold an unknown name, or a value of another shape. What is undefined is absent. */
export function checkOptions<Options>(options: unknown, shapes: Shapes<Options>): void {
  shape('an object', isObject)(options, 'options');
  checkFields(options as object, shapes, (field) => [field, 'unknown option']);
}

/** Whether a value is an object, and not a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value of any type in one line, as a message shows it. */
export function shown(value: unknown): string {
  // That of an error has its stack.
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
): void {
  const known: Record<string, Shape> = shapes;
  for (const [field, value] of Object.entries(given)) {
    const [name, unknown] = naming(field);
    const check = Object.hasOwn(known, field) ? known[field] : undefined;
    if (check === undefined) {
      const near = nearest(field, Object.keys(known));
      throw usageError(`${unknown} '${field}'${near ? `; did you mean '${near}'?` : ''}`);
    }
    if (value !== undefined) check(value, name);
  }
}

function isNumberOrText(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'string';
}
