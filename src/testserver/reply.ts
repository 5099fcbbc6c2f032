import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TestServerPlan } from './options.js';

/** A prepared response. */
export interface Reply {
  status: number;
  /** Alternating names and values. */
  headers: string[];
  chunks: string[];
  /** The last chunk, or the whole content. */
  last: string;
}

// RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: responses with these statuses have no content.
const WITHOUT_CONTENT = [204, 205, 304];
const CHUNKS = 4;

/** Prepares a response that can be sent any number of times. Without a text it has the plan's size. */
export function prepareReply(plan: TestServerPlan, text = buildContent(plan.size)): Reply {
  const headers = plan.close ? ['Connection', 'close'] : [];
  if (WITHOUT_CONTENT.includes(plan.status)) {
    return { status: plan.status, headers, chunks: [], last: '' };
  }
  headers.push('Content-Type', 'text/plain');
  if (!plan.chunked) headers.push('Content-Length', String(text.length));
  const [last = '', ...chunks] = plan.chunked ? splitIntoChunks(text).reverse() : [text];
  return { status: plan.status, headers, chunks: chunks.reverse(), last };
}

/** Sends head and content. A short response takes one write; Node writes `latin1` strings fastest. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, reply.headers);
  if (reply.chunks.length === 0) response.end(reply.last, 'latin1');
  else sendChunks(response, reply);
}

/** Sends each chunk in a turn of the event loop of its own, since Node joins chunks written in the same turn. */
async function sendChunks(response: ServerResponse, { chunks, last }: Reply): Promise<void> {
  for (const chunk of chunks) {
    response.write(chunk, 'latin1');
    await nextTurn();
  }
  response.end(last, 'latin1');
}

function buildContent(size: number | null): string {
  return size === null ? 'hello, world\n' : 'millrace\n'.repeat(size / 9 + 1).slice(0, size);
}

/** Splits a text into chunks of similar length. None is empty, as an empty chunk would end the message. */
function splitIntoChunks(text: string): string[] {
  const length = Math.ceil(text.length / CHUNKS) || 1;
  return text.match(new RegExp(`[^]{${length}}|[^]+$`, 'g')) ?? [];
}
