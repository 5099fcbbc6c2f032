import { METHODS } from 'node:http';
import { usageError } from '../errors/millrace-error.js';
import type { RequestHeaders } from '../validation/headers.js';
import { findNearest } from '../validation/nearest.js';
import { describeValue, isObject } from '../validation/shape.js';
import type { Duration } from '../validation/units.js';
import type { AfterHook, BeforeHook } from './hooks.js';
import { findPlace } from './place.js';
import type { Source } from './sources.js';

/** A value of JSON; strings may have placeholders. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Expects a value to be there, whatever it is. */
export const exists: unique symbol = Symbol.for('millrace.exists');
/** Expects a value not to be there. */
export const absent: unique symbol = Symbol.for('millrace.absent');

/** What a value is expected to be: there, not there, or matched by a regular expression. */
export type ValueTest = typeof exists | typeof absent | RegExp;

/** What a response is expected to be like. Texts may have placeholders. */
export interface Expectations {
  /** A status, a class or a range, or a list of them: `200`, `'2xx'`, `['200-204', 404]`. Default: all below 400. */
  status?: number | string | readonly (number | string)[];
  /** Values of a JSON body by JSON pointer: equal to this value, or as the test says. */
  json?: { readonly [pointer: string]: JsonValue | ValueTest };
  /** Values of header fields by name: equal to this text, or as the test says. */
  headers?: { readonly [name: string]: string | ValueTest };
  /** A text that the body contains, or a regular expression that matches it; or a list of them. */
  body?: string | RegExp | readonly (string | RegExp)[];
  /** The longest time from when the step was due to the end of the response. */
  within?: Duration;
  /** Bytes of the body: `'1kb-2mb'`, or an exact number. */
  size?: number | string;
}

/** A part of a multipart body: a text, or a file with its content. */
export type MultipartPart =
  | string
  | { content: string | Uint8Array; filename?: string; type?: string };

/** A request of a scenario. */
export interface RequestOptions {
  /** Header fields, in addition to those of the run. */
  headers?: RequestHeaders;
  /** A body that is sent as JSON. A string that is only a placeholder of a variable becomes its value, with its type. */
  json?: JsonValue;
  /** A body that is sent as the fields of a form. */
  form?: Record<string, string | number | boolean>;
  /** A body of several parts (RFC 7578): texts, or files `{ content, filename, type }`. */
  multipart?: Record<string, MultipartPart>;
  /** Any other body. */
  body?: string | Uint8Array;
  /** What the response is expected to be like; otherwise the step fails. */
  expect?: Expectations;
  /** Values of the response that are kept as variables, by their names. */
  save?: Record<string, Source>;
  /** Whether the iteration goes on when the step has failed. Default `'end'`. */
  onError?: 'end' | 'continue';
  /** JavaScript that is called before the request is built, to set variables. */
  before?: BeforeHook;
  /** JavaScript that is called with the response. */
  after?: AfterHook;
}

/** A step that sends a request. */
export interface RequestStep extends Readonly<RequestOptions> {
  readonly kind: 'request';
  /** File and line of the call, for messages. */
  readonly place?: string | null;
  readonly name: string;
  readonly method: string;
  readonly url: string;
  /** Of a call of gRPC: its message. */
  readonly call?: Pick<GrpcOptions, 'message' | 'proto'>;
}

/** A step that waits. */
export interface PauseStep {
  readonly kind: 'pause';
  readonly place?: string | null;
  /** A duration, or the shortest and the longest one. */
  readonly time: Duration;
}

/** Steps that are done several times. */
export interface RepeatStep {
  readonly kind: 'repeat';
  readonly place?: string | null;
  readonly count: number;
  readonly steps: readonly Step[];
}

/** Steps that are done if a comparison holds. */
export interface WhenStep {
  readonly kind: 'when';
  readonly place?: string | null;
  readonly left: string;
  readonly operator: Operator;
  readonly right: string;
  readonly steps: readonly Step[];
}

export type Step = RequestStep | PauseStep | RepeatStep | WhenStep;

export const OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const;
export type Operator = (typeof OPERATORS)[number];

/**
 * Sends a request: `request('list', 'GET /items?page={{page}}', { save: { first: json('/items/0/id') } })`. The name is that of
 * its figures in the report. A URL that begins with `/` goes to the server of the run.
 */
export function request(name: string, line: string, options: RequestOptions = {}): RequestStep {
  const where = `request ${describeValue(name)}`;
  if (typeof name !== 'string' || name.trim() === '') {
    throw usageError(
      `request takes a name, as in request('log in', 'POST /login') (got ${describeValue(name)})`,
    );
  }
  const [, method, url] =
    /^([^\s/]+)\s+(\S.*)$/.exec(typeof line === 'string' ? line.trim() : '') ?? [];
  if (method === undefined || url === undefined) {
    throw usageError(
      `${where} takes a method and a URL, as in 'GET /items' (got ${describeValue(line)})`,
    );
  }
  if (!isObject(options)) {
    throw usageError(
      `${where}: the third argument is an object of options (got ${describeValue(options)})`,
    );
  }
  const near = findMeantMethod(method.toUpperCase());
  if (near !== undefined) {
    throw usageError(`${where}: '${method}' is no method; did you mean ${near}?`);
  }
  const unknown = Object.keys(options).find((key) => !REQUEST_OPTIONS.has(key));
  if (unknown !== undefined) {
    throw usageError(
      `${where}: unknown option '${unknown}'; known are ${[...REQUEST_OPTIONS].join(', ')}`,
    );
  }
  const bodies = BODIES.filter((it) => options[it as keyof RequestOptions] !== undefined);
  if (bodies.length > 1)
    throw usageError(`${where}: one body at most (got ${bodies.join(' and ')})`);
  for (const hook of ['before', 'after'] as const) {
    if (options[hook] !== undefined && typeof options[hook] !== 'function') {
      throw usageError(
        `${where}: ${hook} must be a function (got ${describeValue(options[hook])})`,
      );
    }
  }
  if (options.onError !== undefined && !['end', 'continue'].includes(options.onError)) {
    throw usageError(
      `${where}: onError must be 'end' or 'continue' (got ${describeValue(options.onError)})`,
    );
  }
  return { ...options, kind: 'request', place: findPlace(), name: name.trim(), method, url };
}

/** A call of gRPC of a scenario. */
export interface GrpcOptions extends Omit<RequestOptions, 'json' | 'form' | 'multipart' | 'body'> {
  /** The message: bytes of protobuf, or a value of JSON with `proto`. Default: empty. */
  message?: Uint8Array | { readonly [name: string]: JsonValue };
  /** The .proto file with the method, relative to the current folder or to the file of the scenario. Default: the run's option `proto`. */
  proto?: string;
}

/**
 * Calls a method of gRPC at the server of the run: `grpc('greet', 'helloworld.Greeter/SayHello', { proto: 'greeter.proto', message:
 * { name: 'Ada' } })`. The step fails unless the status is OK. `header('grpc-status')` finds trailers, too.
 */
export function grpc(name: string, method: string, options: GrpcOptions = {}): RequestStep {
  const where = `grpc ${describeValue(name)}`;
  if (typeof method !== 'string' || !/^\/?[\w.]+\/\w+$/.test(method.trim())) {
    throw usageError(`${where} takes package.Service/Method (got ${describeValue(method)})`);
  }
  if (!isObject(options)) {
    throw usageError(
      `${where}: the third argument is an object of options (got ${describeValue(options)})`,
    );
  }
  const { message, proto, ...others } = options;
  if (message !== undefined && !isObject(message)) {
    throw usageError(
      `${where}: message is a Uint8Array or an object (got ${describeValue(message)})`,
    );
  }
  if (proto !== undefined && typeof proto !== 'string') {
    throw usageError(`${where}: proto is the path of a file (got ${describeValue(proto)})`);
  }
  const body = BODIES.find((it) => it in others);
  if (body !== undefined) {
    throw usageError(`${where}: the body of a call is its message (got ${body})`);
  }
  const known = ['message', 'proto', ...REQUEST_OPTIONS].filter((it) => !BODIES.includes(it));
  const unknown = Object.keys(others).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw usageError(`${where}: unknown option '${unknown}'; known are ${known.join(', ')}`);
  }
  const path = method.trim().replace(/^\/?/, '/');
  const call = { ...(message && { message }), ...(proto !== undefined && { proto }) };
  return { ...request(name, `POST ${path}`, others), call };
}

/** Finds the method that was meant: one with the same letters, or that differs least. */
function findMeantMethod(method: string): string | undefined {
  if (METHODS.includes(method)) return undefined;
  const letters = (text: string) => [...text].sort().join('');
  const same = METHODS.find((known) => letters(known) === letters(method));
  return same ?? findNearest(method, METHODS);
}

/** Of these, bodies: a request has one at most. */
const BODIES: readonly string[] = ['json', 'form', 'multipart', 'body'];

const REQUEST_OPTIONS = new Set<string>([
  'headers',
  'json',
  'form',
  'multipart',
  'body',
  'expect',
  'save',
  'onError',
  'before',
  'after',
] satisfies (keyof RequestOptions)[]);

/** Waits for a duration, or for a random one of a range: `pause('500ms')`, `pause('1-3s')`, `pause('500ms-2s')`. */
export function pause(time: string): PauseStep {
  // In other tools a number means seconds.
  if (typeof time !== 'string') {
    throw usageError(
      `pause takes a time with its unit, such as '1s', '500ms' or '1-3s' (got ${describeValue(time)})`,
    );
  }
  return { kind: 'pause', place: findPlace(), time };
}

/** Does steps so many times. */
export function repeat(count: number, steps: readonly Step[]): RepeatStep {
  if (!Number.isSafeInteger(count) || count < 0 || count > MAX_COUNT) {
    throw usageError(
      `repeat takes a whole number from 0 to ${MAX_COUNT} (got ${describeValue(count)})`,
    );
  }
  return { kind: 'repeat', place: findPlace(), count, steps: readSteps(steps, 'repeat') };
}

/**
 * Does steps if a comparison holds: `when('{{total}}', '>', 0, [...])`. Numbers are compared as numbers, other texts as texts; a
 * variable without a value is an empty text.
 */
export function when(
  left: string,
  operator: Operator,
  right: string | number | boolean | null,
  steps: readonly Step[],
): WhenStep {
  if (!OPERATORS.includes(operator)) {
    throw usageError(`when takes one of ${OPERATORS.join(' ')} (got ${describeValue(operator)})`);
  }
  return {
    kind: 'when',
    place: findPlace(),
    left: String(left),
    operator,
    right: String(right),
    steps: readSteps(steps, 'when'),
  };
}

const MAX_COUNT = 1_000_000_000;

/** Checks a list of steps. */
export function readSteps(steps: readonly Step[], where: string): readonly Step[] {
  if (!Array.isArray(steps))
    throw usageError(`${where} takes a list of steps (got ${describeValue(steps)})`);
  for (const step of steps as unknown[]) {
    if (isObject(step) && KINDS.has((step as { kind?: unknown }).kind)) continue;
    throw usageError(
      `${where}: a step is what request(), pause(), repeat() or when() returns (got ${describeValue(step)})`,
    );
  }
  return steps;
}

const KINDS = new Set<unknown>(['request', 'pause', 'repeat', 'when']);
