import { inspect } from 'node:util';

type ErrorClass = new (message: string) => Error;

/** An error as Node's own code of HTTP/2 throws it. */
function nodeError(Class: ErrorClass, code: string, message: string): Error {
  const error = Object.assign(new Class(message), { code });
  // As Node shows its own.
  const stack = error.stack?.replace(/^\w+/, `$& [${code}]`);
  if (stack !== undefined) Object.defineProperty(error, 'stack', { value: stack, writable: true });
  return error;
}

export const invalidStream = () =>
  nodeError(Error, 'ERR_HTTP2_INVALID_STREAM', 'The stream has been destroyed');

export const headersSent = () =>
  nodeError(Error, 'ERR_HTTP2_HEADERS_SENT', 'Response has already been initiated.');

export const headersAfterRespond = () =>
  nodeError(
    Error,
    'ERR_HTTP2_HEADERS_AFTER_RESPOND',
    'Cannot specify additional headers after response initiated',
  );

export const invalidStatus = (status: unknown) =>
  nodeError(RangeError, 'ERR_HTTP2_STATUS_INVALID', `Invalid status code: ${status}`);

export const invalidInfoStatus = (status: unknown) =>
  nodeError(
    RangeError,
    'ERR_HTTP2_INVALID_INFO_STATUS',
    `Invalid informational status code: ${status}`,
  );

export const switchingProtocols = () =>
  nodeError(
    Error,
    'ERR_HTTP2_STATUS_101',
    'HTTP status code 101 (Switching Protocols) is forbidden in HTTP/2',
  );

export const invalidPseudoField = (name: string) =>
  nodeError(
    TypeError,
    'ERR_HTTP2_INVALID_PSEUDOHEADER',
    `"${name}" is an invalid pseudoheader or is used incorrectly`,
  );

export const invalidConnectionField = (name: string) =>
  nodeError(
    TypeError,
    'ERR_HTTP2_INVALID_CONNECTION_HEADERS',
    `HTTP/1 Connection specific headers are forbidden: "${name}"`,
  );

export const invalidToken = (name: string) =>
  nodeError(
    TypeError,
    'ERR_INVALID_HTTP_TOKEN',
    `Header name must be a valid HTTP token ["${name}"]`,
  );

export const invalidValue = (name: string) =>
  nodeError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);

export const trailersSent = () =>
  nodeError(Error, 'ERR_HTTP2_TRAILERS_ALREADY_SENT', 'Trailing headers have already been sent');

export const trailersNotReady = () =>
  nodeError(
    Error,
    'ERR_HTTP2_TRAILERS_NOT_READY',
    'Trailing headers cannot be sent until after the wantTrailers event is emitted',
  );

export const pushDisabled = () =>
  nodeError(Error, 'ERR_HTTP2_PUSH_DISABLED', 'HTTP/2 client has disabled push streams');

export const noSocketManipulation = () =>
  nodeError(
    Error,
    'ERR_HTTP2_NO_SOCKET_MANIPULATION',
    'HTTP/2 sockets should not be directly manipulated (e.g. read and written)',
  );

export const streamError = (code: string | number) =>
  nodeError(Error, 'ERR_HTTP2_STREAM_ERROR', `Stream closed with error code ${code}`);

export const sessionError = (code: string | number) =>
  nodeError(Error, 'ERR_HTTP2_SESSION_ERROR', `Session closed with error code ${code}`);

export const invalidArgument = (name: string, expected: string, value: unknown) =>
  nodeError(
    TypeError,
    'ERR_INVALID_ARG_TYPE',
    `The "${name}" argument must be ${expected}. Received ${describe(value)}`,
  );

export const outOfRange = (name: string, range: string, value: unknown) =>
  nodeError(
    RangeError,
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${range}. Received ${value}`,
  );

function describe(value: unknown): string {
  return value === null || value === undefined
    ? String(value)
    : `type ${typeof value} (${inspect(value)})`;
}
