import { usageError } from '../../errors/millrace-error.js';
import type { NativeCheck } from '../../native/addon.js';
import { readPointer } from '../../scenario/sources.js';
import {
  absent,
  type Expectations,
  exists,
  type JsonValue,
  type RequestStep,
  type ValueTest,
} from '../../scenario/steps.js';
import { describeValue, isObject } from '../../validation/shape.js';
import { parseBytes, parseDuration } from '../../validation/units.js';
import { listExpectedStatuses, readExpect } from '../requests/expect.js';
import { translate } from './sources.js';

/** A check in the engine's form, and in words. */
export interface Check {
  native: NativeCheck;
  text: string;
}

/** What is wrong with JSON in a response to a call of gRPC. */
export const NO_JSON =
  'the response to a call of gRPC is bytes of protobuf, not JSON; header() finds its metadata and trailers, and after(response) gets its bytes';

const KNOWN = ['status', 'headers', 'json', 'body', 'within', 'size'] as const;

/** Builds the checks of a step. */
export function buildChecks(
  expect: Expectations | undefined,
  where: string,
  isGrpc: boolean,
): Check[] {
  if (expect === undefined) return [];
  if (!isObject(expect)) {
    throw usageError(
      `${where}: expect is an object of ${KNOWN.join(', ')} (got ${describeValue(expect)})`,
    );
  }
  const unknown = Object.keys(expect).find((key) => !(KNOWN as readonly string[]).includes(key));
  if (unknown !== undefined) {
    throw usageError(`${where}: expect knows ${KNOWN.join(', ')} (got '${unknown}')`);
  }
  const { status, headers = {}, json = {}, body = [], within, size } = expect;
  if (isGrpc && expect.json !== undefined) {
    throw usageError(`${where}: expect.json: ${NO_JSON}`);
  }
  return [
    ...(status === undefined ? [] : [buildStatus(status, where, isGrpc)]),
    ...Object.entries(headers).map(([name, test]) => buildHeader(name, test, where)),
    ...listTests(json, where).map(([pointer, test]) => buildJson(pointer, test, where)),
    ...[body].flat().map((test) => buildBody(test as string | RegExp, where)),
    ...(within === undefined ? [] : [buildWithin(within, where)]),
    ...(size === undefined ? [] : [buildSize(size, where)]),
  ];
}

/** Lists the statuses of a success of a step; `undefined`: those of the run. */
export function listStatuses(
  { expect, call }: Pick<RequestStep, 'expect' | 'call'>,
  where: string,
): number[] | undefined {
  const status = expect?.status ?? (call ? 'OK' : undefined);
  if (status === undefined) return undefined;
  return listExpectedStatuses(readStatus(status, where, call !== undefined));
}

function readStatus(
  status: NonNullable<Expectations['status']>,
  where: string,
  isGrpc: boolean,
): string[] {
  const words = [status].flat() as (string | number)[];
  return readExpect(words, `${where}: expect.status`, isGrpc);
}

function listTests(
  tests: Record<string, JsonValue | ValueTest>,
  where: string,
): [string, JsonValue | ValueTest][] {
  if (isObject(tests)) return Object.entries(tests);
  throw usageError(
    `${where}: expect.json is an object of JSON pointers and values (got ${describeValue(tests)})`,
  );
}

function buildStatus(
  status: NonNullable<Expectations['status']>,
  where: string,
  isGrpc: boolean,
): Check {
  const words = readStatus(status, where, isGrpc);
  return {
    native: { kind: 'status', statuses: listExpectedStatuses(words) },
    text: `status ${words.join(', ')}`,
  };
}

function buildHeader(name: string, test: string | ValueTest, where: string): Check {
  const source = { kind: 'header', argument: name };
  if (typeof test === 'string') {
    return { native: { kind: 'equals', source, text: test }, text: `header ${name} = ${test}` };
  }
  return buildTest(source, `header ${name}`, test, where);
}

function buildJson(pointer: string, test: JsonValue | ValueTest, where: string): Check {
  let argument: string;
  try {
    argument = readPointer(pointer);
  } catch {
    throw usageError(
      `${where}: expect.json takes JSON pointers such as '/items/0/id' (RFC 6901; got ${describeValue(pointer)})`,
    );
  }
  const source = { kind: 'json', argument };
  const subject = argument === '' ? 'json' : `json ${argument}`;
  if (test instanceof RegExp || typeof test === 'symbol')
    return buildTest(source, subject, test, where);
  const text = JSON.stringify(test);
  if (text === undefined) {
    throw usageError(
      `${where}: expect.json '${pointer}' is no value of JSON (got ${describeValue(test)})`,
    );
  }
  return { native: { kind: 'json', source, text }, text: `${subject} = ${text}` };
}

function buildBody(test: string | RegExp, where: string): Check {
  const source = { kind: 'body' };
  if (typeof test === 'string') {
    return { native: { kind: 'contains', source, text: test }, text: `body contains ${test}` };
  }
  return buildTest(source, 'body', test, where);
}

function buildTest(
  source: NativeCheck['source'],
  subject: string,
  test: ValueTest,
  where: string,
): Check {
  const base = source === undefined ? {} : { source };
  if (test === exists) return { native: { kind: 'exists', ...base }, text: `${subject} exists` };
  if (test === absent) return { native: { kind: 'absent', ...base }, text: `${subject} is absent` };
  if (test instanceof RegExp) {
    const text = translate(test, where);
    return { native: { kind: 'matches', ...base, text }, text: `${subject} matches ${test}` };
  }
  throw usageError(
    `${where}: ${subject} is compared with text, a regular expression, exists or absent (got ${describeValue(test)})`,
  );
}

function buildWithin(within: string | number, where: string): Check {
  const most = parseDuration(within, `${where}: expect.within`);
  return {
    native: { kind: 'within', most },
    text: `within ${typeof within === 'number' ? `${within}ms` : within}`,
  };
}

function buildSize(size: number | string, where: string): Check {
  const name = `${where}: expect.size`;
  const [from = '', to = from] = String(size)
    .split('-')
    .map((part) => part.trim());
  const [least, most] = [parseBytes(from, name), parseBytes(to, name)];
  if (least > most) throw usageError(`${name} must be a range such as 1kb-2mb (got '${size}')`);
  return { native: { kind: 'size', least, most }, text: `size ${size}` };
}
