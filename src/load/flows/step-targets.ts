import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import type { NativeRequest } from '../../native/addon.js';
import type { RequestStep } from '../../scenario/steps.js';
import { listHeaders } from '../../validation/headers.js';
import { describeValue } from '../../validation/shape.js';
import { encodeValue } from '../grpc/json-message.js';
import { frameMessage, readMethodName, refusePlaceholders } from '../grpc/message.js';
import { findRequestType } from '../grpc/proto-file.js';
import type { LoadOptions } from '../options.js';
import type { LocatedTarget } from '../requests/targets-file.js';
import { buildBody } from './body.js';
import { listStatuses } from './checks.js';
import { findFolder } from './load-module.js';
import type { LocatedStep } from './read-scenarios.js';

/** The request of a step: as a target of the mix, and what targets do not have. */
export interface StepTarget {
  target: LocatedTarget;
  extra: Pick<NativeRequest, 'bodyFormat' | 'expected'>;
}

/** Turns the steps' requests into targets. */
export function buildStepTargets(
  steps: readonly LocatedStep[],
  options: LoadOptions,
): StepTarget[] {
  const shared = options.headers === undefined ? [] : listHeaders(options.headers);
  return steps.map(({ step, scenario, where }) => {
    checkUrl(step.url, where);
    const call = step.call ? buildCall(step, options, where) : null;
    const body = call ? null : buildBody(step, where);
    const own: [name: string, value: string][] =
      step.headers === undefined ? [] : listHeaders(step.headers);
    const hasType = [...own, ...shared].some(([name]) => name.toLowerCase() === 'content-type');
    const headers: [name: string, value: string][] =
      body?.type === undefined || hasType ? own : [['Content-Type', body.type], ...own];
    const expected = listStatuses(step, where);
    return {
      target: {
        ...{ where, url: step.url, method: step.method, name: step.name, headers },
        ...(body && { body: body.content }),
        ...(call && { isCall: true, body: call }),
      },
      extra: {
        ...(body && { bodyFormat: body.format }),
        // A redirection that is followed is a success, whatever its step expects of the last response.
        ...(expected && {
          expected: scenario.follow > 0 ? [...expected, ...REDIRECTIONS] : expected,
        }),
      },
    };
  });
}

/** Builds the message of a step that calls gRPC. */
function buildCall({ url, call }: RequestStep, options: LoadOptions, where: string): Uint8Array {
  const { message = {}, proto = options.proto } = call ?? {};
  if (message instanceof Uint8Array) {
    refusePlaceholders(message, where);
    return frameMessage(message);
  }
  refusePlaceholders(JSON.stringify(message), where);
  if (proto === undefined) {
    if (Object.keys(message).length === 0) return frameMessage(new Uint8Array());
    throw usageError(`${where}: a message that is an object needs proto, the .proto file`);
  }
  const folder = findFolder(options);
  const file = folder !== null && !existsSync(proto) ? resolve(folder, proto) : proto;
  const type = findRequestType(file, readMethodName(url, where));
  return frameMessage(encodeValue(message, type, `${where}: message`));
}

/** Statuses that are followed. */
const REDIRECTIONS = [301, 302, 303, 307, 308];

function checkUrl(url: string, where: string): void {
  if (/^(?:\/|https?:\/\/|unix:)/i.test(url)) return;
  throw usageError(
    `${where}: a URL begins with / for the server of the run, or with http:// or https:// (got ${describeValue(url)})`,
  );
}

/** Options that say what scenarios say themselves, and what to do instead. */
const CONFLICTS: readonly (readonly [keyof LoadOptions, string])[] = [
  ['targets', 'its steps are the requests'],
  ['targetsFile', 'its steps are the requests'],
  ['name', 'its steps have names'],
  ['method', 'its steps have methods'],
  ['body', 'its steps have bodies'],
  ['bodyFile', 'its steps have bodies'],
  ['follow', 'it has an option of its own: scenario(NAME, [...], { follow: 3 })'],
  [
    'pipelining',
    'a user sends one request at a time; users that share connections (--users with -c) share their streams of HTTP/2 by -p',
  ],
  ['thinkTime', "it has pauses: pause('1s')"],
  ['maxPending', 'users are the bound: an iteration for which no user is free is not started'],
  ['placeholders', 'its steps need them'],
  ['expect', 'its steps have expectations: expect: { status: 404 }'],
];

/** Whether users may have streams of HTTP/2 on connections that they share. */
function mayShareStreams(
  { users, connections, http2, preferHttp2, h2c }: LoadOptions,
  callsGrpc: boolean,
): boolean {
  const isShared = users !== undefined && connections !== undefined;
  return isShared && [http2, preferHttp2, h2c, callsGrpc].includes(true);
}

/** Refuses options that cannot be combined with a scenario. */
export function refuseConflicts(options: LoadOptions, callsGrpc: boolean): void {
  for (const [option, reason] of CONFLICTS) {
    const value = options[option];
    // The smallest numbers are what scenarios have anyway.
    const isNone =
      (option === 'pipelining' && (Number(value) === 1 || mayShareStreams(options, callsGrpc))) ||
      (option === 'follow' && Number(value) === 0);
    if (value !== undefined && !isNone) {
      throw usageError(`${option} cannot be combined with a scenario: ${reason}`);
    }
  }
}
