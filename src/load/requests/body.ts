import { usageError } from '../../errors.js';
import { readInput } from '../input/file.js';
import type { LoadOptions } from '../options.js';

/** The body that requests without one of their own carry. */
export function readSharedBody({ body, bodyFile }: LoadOptions): Buffer | undefined {
  if (body !== undefined && bodyFile !== undefined) {
    throw usageError('body cannot be combined with bodyFile');
  }
  return bodyFile === undefined ? toBytes(body) : readInput(bodyFile, 'body file');
}

/** The bytes of a body; text becomes UTF-8. */
export function toBytes(body: string | Uint8Array | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
