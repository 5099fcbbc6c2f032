import type { LoadOptions } from '../load/options.js';
import { isObject } from '../validation/shape.js';

const BYTES = '$bytes';

/** Turns options into values that JSON has: bytes into base64, headers into pairs, URLs into text. */
export function encodeOptions(options: LoadOptions): unknown {
  return encode(options);
}

function encode(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value;
    return { [BYTES]: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
  }
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(encode);
  if (!isObject(value)) return value;
  // As a Headers or a Map has them.
  if (Symbol.iterator in value) return [...(value as Iterable<unknown>)].map(encode);
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, encode(it)]));
}

/** Restores options of `encodeOptions()`. */
export function decodeOptions(value: unknown): LoadOptions {
  return decode(value) as LoadOptions;
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (!isObject(value)) return value;
  const { [BYTES]: bytes, ...rest } = value as Record<string, unknown>;
  if (typeof bytes === 'string' && Object.keys(rest).length === 0) {
    return Buffer.from(bytes, 'base64');
  }
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, decode(it)]));
}
