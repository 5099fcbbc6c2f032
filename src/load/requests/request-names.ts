import { usageError } from '../../errors/millrace-error.js';
import { toRouteName } from '../../format/route-name.cjs';
import { describeValue } from '../../validation/shape.js';

/** Maximum number of names; the requests of all others are one. */
export const MAX_NAMES = 200;

/** The name of the requests beyond `MAX_NAMES`. */
export const OTHER_REQUESTS = 'other requests';

const MAX_NAME_LENGTH = 200;

/** The names of a run's requests. */
export class RequestNames {
  /** In the order of their first requests. */
  readonly list: string[] = [];
  readonly #indexes = new Map<string, number>();

  findOrAdd(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    if (this.list.length >= MAX_NAMES - 1 && name !== OTHER_REQUESTS)
      return this.findOrAdd(OTHER_REQUESTS);
    this.#indexes.set(name, this.list.length);
    return this.list.push(name) - 1;
  }
}

/** Checks a name that a target has. */
export function readRequestName(name: string, where: string): string {
  const text = name.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (text === '' || text.length > MAX_NAME_LENGTH || /[\0-\x1f\x7f]/.test(text)) {
    throw usageError(
      `${where}: a name must have 1 to ${MAX_NAME_LENGTH} characters on one line (got ${describeValue(name)})`,
    );
  }
  return text;
}

/** Derives a request's name from its method and its request-target: the path, with `:id` in place of what varies. */
export function deriveRequestName(method: string, target: string): string {
  // A placeholder may contain the path of a file.
  const filled = target.replaceAll(/\{\{.*?\}\}/g, VARIABLE);
  const path = filled.split(/[?#]/, 1)[0] ?? '';
  const segments = path.split('/').map((segment) => (segment.includes(VARIABLE) ? '0' : segment));
  return `${method} ${toRouteName(segments.join('/'))}`;
}

const VARIABLE = '\0';
