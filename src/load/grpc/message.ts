import { usageError } from '../../errors/millrace-error.js';
import type { NativeHeader } from '../../native/addon.js';
import { describeValue } from '../../validation/shape.js';

/** The fields of a call (the gRPC protocol over HTTP/2). */
export const CALL_FIELDS: readonly NativeHeader[] = [
  { name: 'Content-Type', value: 'application/grpc' },
  { name: 'TE', value: 'trailers' },
];

/** Refuses a type of content that is not one of gRPC: a server would answer with status 415. */
export function checkContentType(fields: readonly NativeHeader[], where: string): void {
  const type = fields.find(({ name }) => name.toLowerCase() === 'content-type');
  if (!type || /^application\/grpc\b/i.test(type.value.trim())) return;
  throw usageError(
    `${where}: the Content-Type of a call of gRPC is application/grpc or application/grpc+proto (got ${type.value}): leave it out`,
  );
}

/** Length of what comes before a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** Frames a message of gRPC, uncompressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(PREFIX_BYTES + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}

/**
 * Refuses placeholders in a message, or in its JSON: what they stand for would change its lengths. `advice` is what to do
 * instead.
 */
export function refusePlaceholders(message: string | Uint8Array, where: string, advice = ''): void {
  if (!Buffer.from(message).includes('{{')) return;
  throw usageError(
    `${where}: a message of gRPC cannot have placeholders, as they would change its lengths${advice}`,
  );
}

/** A method of gRPC. */
export interface GrpcMethod {
  /** With its package. */
  service: string;
  method: string;
}

/** Reads the name of a method: `package.Service/Method`, with a leading slash or without. */
export function readMethodName(text: string, where = 'grpc'): GrpcMethod {
  const [, service, method] = /^\/?([A-Za-z_][\w.]*)\/([A-Za-z_]\w*)$/.exec(text.trim()) ?? [];
  if (service !== undefined && method !== undefined) return { service, method };
  // As ghz accepts it.
  const [, before, last] = /^([\w.]+)\.(\w+)$/.exec(text.trim()) ?? [];
  const hint = before === undefined ? '' : `; did you mean ${before}/${last}?`;
  throw usageError(
    `${where} must be a method such as 'package.Service/Method' (got ${describeValue(text)})${hint}`,
  );
}
