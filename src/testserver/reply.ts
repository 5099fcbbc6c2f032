import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TestServerPlan } from './options.js';

/** A response, ready to be sent. */
export interface Reply {
  status: number;
  /** Names and values in turn. */
  headers: string[];
  chunks: string[];
  /** The last chunk, or all the content. */
  last: string;
}

// RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: responses with these have no content.
const WITHOUT_CONTENT = [204, 205, 304];
const CHUNKS = 4;

/** Makes a response to be sent any number of times; without a text it has the plan's size. */
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

/** Sends head and content: if short in one write, for which Node takes strings of one byte per character the fastest. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, reply.headers);
  if (reply.chunks.length === 0) response.end(reply.last, 'latin1');
  else sendChunks(response, reply);
}

/** Each chunk in a turn of its own: Node joins what is written in one. */
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

/** Chunks of about the same length; none is empty, as an empty chunk would end the message. */
function splitIntoChunks(text: string): string[] {
  const length = Math.ceil(text.length / CHUNKS) || 1;
  return text.match(new RegExp(`[^]{${length}}|[^]+$`, 'g')) ?? [];
}
