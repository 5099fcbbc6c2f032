import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { Secrets } from '../../masking/secrets.js';
import { maskHeader } from '../../masking/text.js';
import type { NativeKeptResponse, NativePlan } from '../../native/addon.js';
import { decodeGrpcMessage } from '../grpc-statuses.js';
import type { Plan } from '../plan/plan.js';
import { isExpected } from '../requests/expect.js';
import type { ErrorKind, FailingResponse } from '../result.js';

/** Maximum number of a body's bytes in the result. */
const MAX_BODY_BYTES = 1024;

/** Builds the failing responses: the first of each status that is not a success, and those that an error cut short. */
export function buildFailingResponses(kept: NativeKeptResponse[], plan: Plan): FailingResponse[] {
  const failing = kept.filter(
    ({ status, request }) => status === undefined || !isSuccess(plan, request, status),
  );
  if (failing.length === 0) return [];
  const secrets = collectSecrets(plan.native);
  return failing.map(({ status, error, request, bytes }) => ({
    status: status ?? null,
    error: (error ?? null) as ErrorKind | null,
    request: findRequest(plan, request),
    ...describeResponse(bytes, secrets),
  }));
}

/** Whether a status is a success of a request: a step of a scenario may have statuses of its own. */
function isSuccess({ native, summary }: Plan, request: number, status: number): boolean {
  return native.requests[request]?.expected?.includes(status) ?? isExpected(summary, status);
}

function findRequest({ summary }: Plan, index: number): FailingResponse['request'] {
  // With a second server each request occurs twice.
  const target = summary.targets[index % summary.targets.length];
  return { method: target?.method ?? '', url: target?.url ?? '' };
}

/** Collects the secrets of the requests, which must not be printed. */
export function collectSecrets({ requests, csv }: NativePlan): Secrets {
  const secrets = new Secrets(csv);
  for (const { headers, target, body } of requests) {
    for (const { name, value } of headers) secrets.addHeader(name, value);
    secrets.addTarget(target);
    if (body) secrets.addBody(body);
  }
  return secrets;
}

type ResponseText = Pick<FailingResponse, 'head' | 'body' | 'bodyTruncated'>;

function describeResponse(bytes: Buffer, secrets: Secrets): ResponseText {
  const { head, content } = splitResponse(bytes);
  const body = decodeChunked(content, head);
  const bodyTruncated = body.length > MAX_BODY_BYTES;
  return {
    // Decoded first, so that a secret in it is found.
    head: decodeGrpcMessage(head)
      .split('\n')
      .map((line) => maskLine(line, secrets))
      .join('\n'),
    body: decodeBody(body.subarray(0, MAX_BODY_BYTES), head, secrets),
    bodyTruncated,
  };
}

function maskLine(line: string, secrets: Secrets): string {
  const [, name, space, value] = /^([^:\s]+)(:\s*)(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) return secrets.mask(line);
  return `${name}${space}${secrets.mask(maskHeader(name, value))}`;
}

/** Decodes a body to text, without secrets; bytes that are not text are counted. */
function decodeBody(body: Buffer, head: string, secrets: Secrets): string {
  const isCoded = /^content-encoding:(?!\s*identity)/im.test(head);
  // The end of the body may be the first bytes of a character: they are left out.
  const text = body.toString('utf8').replace(/\uFFFD{1,3}$/, '');
  const isText = !isCoded && !/[\0\uFFFD]/.test(text);
  return isText ? secrets.mask(text) : `(${body.length} bytes that are not text)`;
}

/** Splits off the head of the final response, without its last line ends. Bytes that are not a response are content. */
export function splitResponse(bytes: Buffer): { head: string; content: Buffer } {
  let rest = bytes;
  for (;;) {
    const text = rest.toString('latin1');
    if (!text.startsWith('HTTP/')) return { head: '', content: rest };
    const [whole] = /^[\s\S]*?\r?\n\r?\n/.exec(text) ?? [text];
    const content = rest.subarray(whole.length);
    const isInterim = /^HTTP\/\d\.\d 1(?!01)\d\d/.test(text) && content.length > 0;
    if (!isInterim) return { head: whole.trimEnd().replaceAll('\r\n', '\n'), content };
    rest = content;
  }
}

/** Removes the framing of chunks and the content coding, as far as Node knows it. */
export function decodeContent(content: Buffer, head: string): Buffer {
  const body = decodeChunked(content, head);
  const [, coding] = /^content-encoding:\s*(\S+)\s*$/im.exec(head) ?? [];
  try {
    switch (coding?.toLowerCase()) {
      case 'gzip':
        return gunzipSync(body);
      case 'br':
        return brotliDecompressSync(body);
      case 'deflate':
        return inflateSync(body);
      default:
        return body;
    }
  } catch {
    return body;
  }
}

function decodeChunked(content: Buffer, head: string): Buffer {
  return /^transfer-encoding:.*chunked/im.test(head) ? decodeChunks(content) : content;
}

/** Decodes the content of the chunks that have arrived. */
function decodeChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\n', at);
    if (end < 0) break;
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(end + 1, end + 1 + size));
    // The line end after the data is part of the chunk.
    const next = bytes.indexOf('\n', end + 1 + size);
    at = next < 0 ? bytes.length : next + 1;
  }
  return Buffer.concat(parts);
}
