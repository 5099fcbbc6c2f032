import { usageError } from '../../errors/millrace-error.js';
import { DEFAULTS } from '../defaults.js';
import { encodeJson } from '../grpc/json-message.js';
import {
  frameMessage,
  type GrpcMethod,
  readMethodName,
  refusePlaceholders,
} from '../grpc/message.js';
import { findRequestType } from '../grpc/proto-file.js';
import type { LoadOptions } from '../options.js';
import { readSharedBody } from './body.js';
import { listUrls } from './url.js';

/** Options that say what a call of gRPC says itself. */
const CONFLICTS = ['targets', 'targetsFile', 'scenario', 'method', 'follow'] as const;

/** Returns the options of a load of gRPC as those of its requests; others unchanged. */
export function expandGrpc(options: LoadOptions): LoadOptions {
  const { grpc, proto, ...others } = options;
  if (grpc === undefined) {
    if (proto !== undefined && options.scenario === undefined)
      throw usageError('proto describes the messages of gRPC: it needs grpc');
    return options;
  }
  const method = readMethodName(grpc);
  for (const option of CONFLICTS) {
    if (options[option] === undefined) continue;
    throw usageError(
      `${option} cannot be combined with grpc: all requests are calls of its method`,
    );
  }
  const urls = listServers(options).map((url) => replaceTarget(url, method));
  const message = readMessage(options, method);
  const { bodyFile, body, ...kept } = others;
  return {
    ...kept,
    grpc: `${method.service}/${method.method}`,
    ...(urls.length > 0 && { url: urls }),
    method: 'POST',
    body: frameMessage(message),
  };
}

/** Lists the servers; without a URL that of the command, or the one behind the socket. */
function listServers({ url, command, socketPath }: LoadOptions): string[] {
  if (url !== undefined) return listUrls(url);
  if (command !== undefined) return ['/'];
  return socketPath === undefined ? [] : ['http://localhost/'];
}

/** Replaces the target of a URL by that of the method. */
function replaceTarget(url: string, { service, method }: GrpcMethod): string {
  const [, origin = '', target = ''] =
    /^(unix:[^:]+:|(?:[a-z]+:\/\/)?[^/?#]*)(.*)$/i.exec(url) ?? [];
  const own = `/${service}/${method}`;
  if (target === '' || target === '/' || target === own) return `${origin}${own}`;
  throw usageError(
    `the path of a call of gRPC is its method: leave out '${target}' in the URL (got '${url}')`,
  );
}

/** Reads the message: bytes, or JSON where there is a .proto file. */
function readMessage(options: LoadOptions, method: GrpcMethod): Uint8Array {
  const { proto, body, placeholders = DEFAULTS.placeholders } = options;
  const bytes = readSharedBody(options);
  if (proto === undefined && typeof body === 'string') {
    throw usageError(
      'the body of a call of gRPC is a message as bytes (-b @FILE, or a Uint8Array): JSON needs proto, the .proto file',
    );
  }
  const given = bytes ?? Buffer.alloc(0);
  const unchanged = ': send {{ unchanged with --no-placeholders';
  if (placeholders) refusePlaceholders(given, 'body', unchanged);
  if (proto === undefined) return refuseJson(given);
  const text = given.toString('utf8').trim();
  return encodeJson(text === '' ? '{}' : text, findRequestType(proto, method), 'body');
}

/** Refuses JSON where a message is expected. A message cannot begin with {: that would be a group, which proto3 has not. */
function refuseJson(message: Buffer): Buffer {
  const text = message.toString('utf8').trim();
  if (!text.startsWith('{') || !isJson(text)) return message;
  throw usageError(
    'the body is JSON, and a message of gRPC is bytes: JSON needs proto, the .proto file',
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
