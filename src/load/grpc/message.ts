import { usageError } from '../../errors/millrace-error.js';

/** Length of what comes before a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** Frames a message of gRPC, uncompressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(PREFIX_BYTES + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}

/** A method of gRPC. */
export interface GrpcMethod {
  /** With its package. */
  service: string;
  method: string;
}

/** Reads the name of a method: `package.Service/Method`, with a leading slash or without. */
export function readMethodName(text: string): GrpcMethod {
  const [, service, method] = /^\/?([A-Za-z_][\w.]*)\/([A-Za-z_]\w*)$/.exec(text.trim()) ?? [];
  if (service !== undefined && method !== undefined) return { service, method };
  throw usageError(`grpc must be a method such as 'package.Service/Method' (got '${text}')`);
}
