import { usageError } from '../../../errors/millrace-error.js';
import type { LoadOptions } from '../../../index.js';

/** Reports whether a value of `-d` is a body, as in other tools, and not a duration. */
export function isBody(value: string): boolean {
  return /^\s*[{[]|^@/.test(value);
}

/** Sets the body: a text, or `@` and the file that contains it. */
export function setBody(options: LoadOptions, value: string): void {
  if (value.startsWith('@')) options.bodyFile = value.slice(1);
  else options.body = value;
}

/** Refuses the fields of a form where a duration is expected, as in curl's `-d a=1`. */
export function refuseForm(value: string, flag: string): void {
  if (!value.includes('=')) return;
  throw usageError(`${flag} must be a duration (got '${value}'): a body is -b '${value}'`);
}
