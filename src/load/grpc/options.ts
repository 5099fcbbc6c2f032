import { resolve } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import { listHeaders } from '../../validation/headers.js';
import type { LoadOptions } from '../options.js';
import { readSharedBody } from '../requests/body.js';
import { listUrls } from '../requests/url.js';
import { frameMessage, type GrpcMethod, readMethodName } from './message.js';

/** Options that say what a call of gRPC says itself. */
const CONFLICTS = ['targets', 'targetsFile', 'scenario', 'method', 'follow'] as const;

/** The fields of a call (the gRPC protocol over HTTP/2). */
const FIELDS: readonly [name: string, value: string][] = [
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

/** Returns the options of a load of gRPC as those of its requests; others unchanged. */
export async function expandGrpc(options: LoadOptions): Promise<LoadOptions> {
  const { grpc, proto, ...others } = options;
  if (grpc === undefined) {
    if (proto !== undefined)
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
  const message = readSharedBody(options) ?? new Uint8Array();
  const encoded = proto === undefined ? message : await encode(proto, method, message, options);
  const { bodyFile, body, headers, ...kept } = others;
  const given = listHeaders(headers ?? {});
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return {
    ...kept,
    grpc,
    url: listUrls(options.url ?? '/').map((url) => replaceTarget(url, method)),
    method: 'POST',
    headers: [...FIELDS.filter(([name]) => !names.has(name)), ...given],
    body: frameMessage(encoded),
    placeholders: false,
  };
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

/** Encodes a message that is given as JSON. */
async function encode(
  proto: string,
  method: GrpcMethod,
  message: Uint8Array,
  { cwd, placeholders }: LoadOptions,
): Promise<Uint8Array> {
  const text = Buffer.from(message).toString('utf8');
  if (placeholders !== false && text.includes('{{')) {
    throw usageError(
      'placeholders cannot be used in messages of gRPC, which are encoded before the run',
    );
  }
  const { encodeMessage } = await import('./protobuf.js');
  return encodeMessage(resolve(cwd ?? '.', proto), method, text);
}
