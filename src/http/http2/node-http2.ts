import type http2 from 'node:http2';

/** Node's own module. Not imported: it takes long to load, and most applications never use it. */
export function nodeHttp2(): typeof http2 {
  return process.getBuiltinModule('node:http2');
}

/** Codes of errors (RFC 9113, section 7), as Node's constants name them. */
export const NO_ERROR = 0;
export const INTERNAL_ERROR = 2;
export const CANCEL = 8;

const NAMES = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT'],
  ...['STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR'],
  ...['CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
];

/** The name of an error code in Node's messages. */
export function nameOf(code: number): string | number {
  const name = NAMES[code];
  return name === undefined ? code : `NGHTTP2_${name}`;
}
