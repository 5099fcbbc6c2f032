import { usageError } from '../../errors/millrace-error.js';
import { isObject, mustBe } from '../../validation/shape.js';
import { readInput } from '../input/file.js';
import { readText, splitLines } from '../input/text.js';
import type { LoadTarget } from '../options.js';
import { splitHeader } from './header.js';

/** A request of the mix, with its place for error messages: `targets.txt:3`. */
export interface LocatedTarget extends LoadTarget {
  url: string;
  where: string;
  /** Whether it is a call of gRPC. */
  isCall?: boolean;
}

/** Reads a file of targets in vegeta's text format or in its JSON format, one object per line. */
export function readTargetsFile(path: string): LocatedTarget[] {
  const lines = splitLines(readText(path, 'targets file'));
  const first = lines.find((line) => !isBlankOrComment(line));
  const targets = first?.trimStart().startsWith('{')
    ? readJsonTargets(lines, path)
    : readTextTargets(lines, path);
  if (targets.length === 0) throw usageError(`targets file '${path}' contains no target`);
  return targets;
}

function isBlankOrComment(line: string): boolean {
  return /^\s*(#|$)/.test(line);
}

/** Names the request that follows, or gives its weight. Other comments of this form are of other tools. */
const ANNOTATION = /^#\s*@(name|weight):\s*(.*)$/i;

/** What the lines before a request say about it, and where. */
type Annotations = Partial<Record<'name' | 'weight', { value: string; where: string }>>;

const REQUEST_LINE = /^([A-Z]+)\s+(\S.*)$/;

function readTextTargets(lines: string[], path: string): LocatedTarget[] {
  const targets: LocatedTarget[] = [];
  let headers: [string, string][] | null = null;
  let annotations: Annotations = {};
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    const where = `${path}:${index + 1}`;
    const current = targets.at(-1);
    const [, method, url] = REQUEST_LINE.exec(line) ?? [];
    const [, kind, value] = ANNOTATION.exec(line) ?? [];
    if (kind !== undefined && value !== undefined) {
      annotations = annotate(annotations, kind.toLowerCase() as keyof Annotations, value, where);
      headers = null;
      continue;
    }
    if (line.startsWith('#')) continue;
    if (line === '') {
      headers = null;
    } else if (method && url) {
      headers = [];
      targets.push({ where, method, url, headers, ...readAnnotations(annotations) });
      annotations = {};
    } else if (!headers || !current) {
      throw usageError(`${where} must be METHOD URL (got '${line}')`);
    } else if (current.body !== undefined) {
      throw usageError(`${where} must be METHOD URL, as it follows the body (got '${line}')`);
    } else if (line.startsWith('@')) {
      current.body = readInput(line.slice(1), `${where}: body file`);
    } else {
      headers.push(splitHeader(line, where));
    }
  }
  for (const [kind, { where }] of Object.entries(annotations)) {
    throw usageError(`${where}: no request follows this ${kind}`);
  }
  return targets;
}

/** Adds what a line says; a second one of its kind is refused, as no request follows the first. */
function annotate(
  annotations: Annotations,
  kind: keyof Annotations,
  value: string,
  where: string,
): Annotations {
  const earlier = annotations[kind];
  if (earlier) throw usageError(`${where}: no request follows the ${kind} in ${earlier.where}`);
  return { ...annotations, [kind]: { value, where } };
}

function readAnnotations({ name, weight }: Annotations): Pick<LocatedTarget, 'name' | 'weight'> {
  const number = weight?.value.trim() ? Number(weight.value) : Number.NaN;
  if (weight && Number.isNaN(number)) {
    throw usageError(`${weight.where}: weight must be a number (got '${weight.value}')`);
  }
  return { ...(name && { name: name.value }), ...(weight && { weight: number }) };
}

function readJsonTargets(lines: string[], path: string): LocatedTarget[] {
  return lines.flatMap((line, index) =>
    isBlankOrComment(line) ? [] : [readJsonTarget(line, `${path}:${index + 1}`)],
  );
}

function readJsonTarget(line: string, where: string): LocatedTarget {
  const { method, url, name, header, body, weight, ...unknown } = parseObject(line, where);
  for (const name of Object.keys(unknown)) {
    throw usageError(
      `${where}: unknown field '${name}': use method, url, name, header, body or weight`,
    );
  }
  if (typeof method !== 'string' || typeof url !== 'string') {
    throw usageError(`${where} must have a method and a url, both text`);
  }
  const target: LocatedTarget = { where, method, url };
  if (name !== undefined) {
    if (typeof name !== 'string') throw mustBe(`${where}: name`, 'text', name);
    target.name = name;
  }
  if (header !== undefined && header !== null) target.headers = readJsonHeaders(header, where);
  if (body !== undefined && body !== null) target.body = decodeBase64(body, where);
  if (weight !== undefined) {
    if (typeof weight !== 'number') {
      throw mustBe(`${where}: weight`, 'a number', weight);
    }
    target.weight = weight;
  }
  return target;
}

function parseObject(line: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) return value as Record<string, unknown>;
  } catch {
    // The error is thrown below.
  }
  throw usageError(`${where} must be one JSON object, such as {"method":"GET","url":"http://..."}`);
}

function readJsonHeaders(header: unknown, where: string): Record<string, string[]> {
  if (isObject(header) && Object.values(header).every(Array.isArray))
    return header as Record<string, string[]>;
  throw usageError(`${where}: header must contain lists of text, such as {"Name": ["value"]}`);
}

function decodeBase64(body: unknown, where: string): Buffer {
  if (typeof body === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(body)) {
    return Buffer.from(body, 'base64');
  }
  throw usageError(`${where}: body must be base64`);
}
