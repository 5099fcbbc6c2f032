import { usageError } from '../../errors/millrace-error.js';
import type { NativeSource } from '../../native/addon.js';
import type { Source } from '../../scenario/sources.js';
import { findGroup, InexpressibleRegex, toRustRegex } from './rust-regex.js';

/** Builds the engine's form of a source. */
export function buildSource(source: Source, where: string): NativeSource {
  const { kind, argument } = source;
  if (!(argument instanceof RegExp)) return argument === null ? { kind } : { kind, argument };
  checkSize(argument, where);
  const group = findGroup(argument, source.group);
  if (group === null) {
    throw usageError(`${where}: ${argument} has no group ${source.group}`);
  }
  return { kind, argument: translate(argument, where), group };
}

/** Most characters of a regular expression. */
const MAX_PATTERN = 10_000;

function checkSize({ source }: RegExp, where: string): void {
  if (source.length <= MAX_PATTERN) return;
  throw usageError(
    `${where}: a regular expression may have ${MAX_PATTERN} characters (got ${source.length})`,
  );
}

/** Translates a regular expression; refuses one that the engine cannot express. */
export function translate(pattern: RegExp, where: string): string {
  checkSize(pattern, where);
  try {
    return toRustRegex(pattern);
  } catch (error) {
    if (!(error instanceof InexpressibleRegex)) throw error;
    throw usageError(
      `${where}: the engine's regular expressions have no ${error.message} (got ${pattern}); a hook can do it: after(response, context) { ... }`,
    );
  }
}

/** Describes a source in words: `json /token`. */
export function describeSource({ kind, argument }: Source): string {
  return argument === null ? kind : `${kind} ${argument}`;
}
