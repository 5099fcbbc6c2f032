// Results that came compressed, from logs and from other machines: what they inflate to is bounded.
import { inflateSync } from 'node:zlib';
import { usageError } from '../errors/millrace-error.js';

/**
 * Most bytes of a result's JSON: those of a share take 0.7 MB a minute, which are 12 hours; and Node.js holds no text that is
 * much longer (`buffer.constants.MAX_STRING_LENGTH`).
 */
const MAX_RESULT_BYTES = 500 * 1024 * 1024;

/** Inflates the JSON of a result, given as Base64; messages begin with its name. */
export function inflateResult(text: string, name: string, maxBytes = MAX_RESULT_BYTES): string {
  try {
    const bytes = Buffer.from(text, 'base64');
    return inflateSync(bytes, { maxOutputLength: maxBytes }).toString('utf8');
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const reason = isTooLarge
      ? `has more than ${maxBytes / 1024 / 1024} MiB, which no result has`
      : 'is damaged: it cannot be decompressed';
    throw usageError(`${name} ${reason}`);
  }
}
