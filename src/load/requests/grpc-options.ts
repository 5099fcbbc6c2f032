import { usageError } from '../../errors/millrace-error.js';
import { listHeaders } from '../../validation/headers.js';
import { DEFAULTS } from '../defaults.js';
import { encodeJson } from '../grpc/json-message.js';
import {
  CALL_FIELDS,
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
  const { bodyFile, body, headers, ...kept } = others;
  const given = listHeaders(headers ?? {});
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return {
    ...kept,
    grpc,
    ...(urls.length > 0 && { url: urls }),
    method: 'POST',
    headers: [...CALL_FIELDS.filter(([name]) => !names.has(name)), ...given],
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
  if (proto === undefined) return given;
  const text = given.toString('utf8').trim();
  return encodeJson(text === '' ? '{}' : text, findRequestType(proto, method), 'body');
}
