import { usageError } from '../../errors/millrace-error.js';
import { readInput } from '../input/file.js';
import type { LoadOptions } from '../options.js';

/** Reads the body of the requests that have none of their own. */
export function readSharedBody({ body, bodyFile }: LoadOptions): Buffer | undefined {
  if (body !== undefined && bodyFile !== undefined) {
    throw usageError('body cannot be combined with bodyFile');
  }
  return bodyFile === undefined ? toBytes(body) : readInput(bodyFile, 'body file');
}

/** Returns the bytes of a body; text is encoded as UTF-8. */
export function toBytes(body: string | Uint8Array | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
