import { replaceControls, replaceRunnerMarks } from './encoding.js';

/** Length from which on text is yielded. */
const CHUNK = 64 * 1024;

/**
 * Formats a value as JSON, indented by two blanks, in parts: a result of many windows is never one string. Nothing in it
 * controls a terminal or commands a CI runner: in strings, where alone this may stand, it is escaped.
 */
export function* formatJson(value: unknown): Generator<string> {
  let text = '';
  for (const part of listParts(value, '', 0)) {
    text += part;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield `${text}\n`;
}

/** Depth down to which objects and lists are split: the lists of a result, and those of its parts. */
const MAX_DEPTH = 3;

function* listParts(value: unknown, indent: string, depth: number): Generator<string> {
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) {
    yield encodeJson(JSON.stringify(value, null, 2)).replaceAll('\n', `\n${indent}`);
    return;
  }
  const isList = Array.isArray(value);
  const entries = isList ? value.entries() : listFields(value);
  const inner = `${indent}  `;
  let separator = isList ? '[' : '{';
  for (const [key, item] of entries) {
    yield `${separator}\n${inner}`;
    if (!isList) yield `${encodeJson(JSON.stringify(key))}: `;
    // In a list there is `null` for what JSON does not have.
    yield* listParts(item === undefined ? null : item, inner, depth + 1);
    separator = ',';
  }
  const [open, close] = isList ? '[]' : '{}';
  yield separator === ',' ? `\n${indent}${close}` : `${open}${close}`;
}

function listFields(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined);
}

/** Escapes what JSON leaves as it is, and what controls a terminal or commands a CI runner: it stands in strings alone. */
export function encodeJson(json: string): string {
  const toEscape = (character: string) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return replaceRunnerMarks(replaceControls(json, toEscape), '\\u0023');
}
