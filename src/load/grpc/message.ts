import { usageError } from '../../errors/millrace-error.js';
import type { NativeHeader } from '../../native/addon.js';
import { describeValue } from '../../validation/shape.js';

/** The fields of a call (the gRPC protocol over HTTP/2). */
export const CALL_FIELDS: readonly NativeHeader[] = [
  { name: 'Content-Type', value: 'application/grpc' },
  { name: 'TE', value: 'trailers' },
];

/** Refuses header fields of a call that servers of gRPC do not understand. */
export function checkCallFields(fields: readonly NativeHeader[], where: string): void {
  checkContentType(fields, where);
  checkTimeout(fields, where);
}

/** A server answers another type of content with status 415. */
function checkContentType(fields: readonly NativeHeader[], where: string): void {
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

/** Reads the name of a method: `package.Service/Method`, with a leading slash or without; `package.Service.Method` is accepted too. */
export function readMethodName(text: string, where = 'grpc'): GrpcMethod {
  const [, service, method] = /^\/?([A-Za-z_][\w.]*)[/.]([A-Za-z_]\w*)$/.exec(text.trim()) ?? [];
  if (service !== undefined && method !== undefined) return { service, method };
  throw usageError(
    `${where} must be a method such as 'package.Service/Method' (got ${describeValue(text)})`,
  );
}

/** The field `grpc-timeout` of the gRPC protocol: at most eight digits, and hours, minutes, seconds, milli-, micro- or nanoseconds. */
const TIMEOUT = /^\d{1,8}[HMSmun]$/;

/** Refuses a deadline that no server would understand. */
function checkTimeout(fields: readonly NativeHeader[], where: string): void {
  const field = fields.find(({ name }) => name.toLowerCase() === 'grpc-timeout');
  if (!field || field.value.includes('{{') || TIMEOUT.test(field.value.trim())) return;
  throw usageError(
    `${where}: grpc-timeout must be digits and a unit, H M S (hours, minutes, seconds) or m u n (milli-, micro-, nanoseconds), such as 50m (got ${field.value})`,
  );
}
