import { usageError } from '../errors/millrace-error.js';

/** Error codes of HTTP/2, by number (RFC 9113, section 7). */
const NAMES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

/** The name of an error of HTTP/2. */
export type Http2Error = (typeof NAMES)[number];

/** Parses the name of an error of HTTP/2, in capitals or not; its code. */
export function parseHttp2Error(text: string, name: string): number {
  const names: readonly string[] = NAMES;
  const code = names.indexOf(text.toUpperCase());
  if (code >= 0) return code;
  throw usageError(`${name} must be an error of HTTP/2 such as REFUSED_STREAM (got '${text}')`);
}
