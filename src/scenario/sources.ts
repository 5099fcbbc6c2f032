import { usageError } from '../errors/millrace-error.js';
import { describeValue, isObject } from '../validation/shape.js';

/** Where a value stands in a response. */
export interface Source {
  readonly kind: 'json' | 'header' | 'cookie' | 'regex' | 'body' | 'status';
  /** The JSON pointer, the name of the header or cookie, or the regular expression. */
  readonly argument: string | RegExp | null;
  /** Group of a regular expression; `null`: the first one, or the whole match if there is none. */
  readonly group: number | string | null;
  /** Whether the step does not fail if there is no such value. */
  readonly optional: boolean;
}

/** Options of a value that is saved. */
export interface SourceOptions {
  /** The step does not fail if there is no such value. Default `false`. */
  optional?: boolean;
}

/** A value of a JSON body, by a JSON pointer (RFC 6901): `json('/items/0/id')`; `json('')` is all of it. */
export function json(pointer: string, options: SourceOptions = {}): Source {
  return build('json', readPointer(pointer), options);
}

/** The value of the first header of a name. */
export function header(name: string, options: SourceOptions = {}): Source {
  return build('header', readName(name, 'header'), options);
}

/** The value of a cookie that the response sets. */
export function cookie(name: string, options: SourceOptions = {}): Source {
  return build('cookie', readName(name, 'cookie'), options);
}

/**
 * The part of the body that a group of a regular expression matches: the first one, or the whole match if it has none;
 * `{ group: 2 }` or `{ group: 'name' }` is another one. The engine's expressions have neither look-around nor back-references.
 */
export function regex(
  pattern: RegExp,
  options: SourceOptions & { group?: number | string } = {},
): Source {
  if (!(pattern instanceof RegExp)) {
    throw usageError(
      `regex takes a regular expression such as /id=(\\d+)/ (got ${describeValue(pattern)})`,
    );
  }
  if (!isObject(options)) return build('regex', pattern, options);
  const { group = null, ...others } = options;
  return build('regex', pattern, others, group);
}

/** The whole body as text. */
export function body(options: SourceOptions = {}): Source {
  return build('body', null, options);
}

/** The status. */
export function status(): Source {
  return build('status', null, {});
}

const KINDS = new Set<unknown>(['json', 'header', 'cookie', 'regex', 'body', 'status']);

/** Reports whether a value is what `json()`, `header()` and the others return, also of another copy of this module. */
export function isSource(value: unknown): value is Source {
  return isObject(value) && 'argument' in value && KINDS.has((value as { kind?: unknown }).kind);
}

function build(
  kind: Source['kind'],
  argument: Source['argument'],
  options: SourceOptions,
  group: Source['group'] = null,
): Source {
  const known = kind === 'regex' ? 'optional, group' : 'optional';
  if (!isObject(options)) {
    throw usageError(
      `${kind} takes an object of options: ${known} (got ${describeValue(options)})`,
    );
  }
  const unknown = Object.keys(options).find((key) => key !== 'optional');
  if (unknown !== undefined) {
    throw usageError(`${kind}: unknown option '${unknown}'; known are ${known}`);
  }
  const { optional = false } = options;
  if (typeof optional !== 'boolean') {
    throw usageError(`${kind}: optional must be true or false (got ${describeValue(optional)})`);
  }
  return { kind, argument, group, optional };
}

/** Checks a JSON pointer. */
export function readPointer(pointer: string): string {
  if (typeof pointer === 'string' && /^(?:\/(?:[^~]|~[01])*)?$/.test(pointer)) return pointer;
  throw usageError(
    `json takes a JSON pointer such as '/items/0/id' (RFC 6901; got ${describeValue(pointer)})`,
  );
}

function readName(name: string, kind: string): string {
  if (typeof name === 'string' && name.trim() !== '') return name.trim();
  throw usageError(`${kind} takes a name (got ${describeValue(name)})`);
}
