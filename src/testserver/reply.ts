import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TestServerPlan } from './options.js';
import type { QueryChanges } from './query.js';
import { closeAfter, endAfter, type Response, reset } from './response.js';

/** What the classes of responses have in common, for the compiler. */
interface Writer {
  writeHead(status: number, headers: Record<string, string>): unknown;
  addTrailers(trailers: Record<string, string>): void;
  write(chunk: string, encoding: 'latin1'): boolean;
  end(chunk: string, encoding: 'latin1'): unknown;
}

/** A prepared response. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  chunks: string[];
  /** The last chunk, or the whole content. */
  last: string;
  trailers: Record<string, string> | null;
  /** The connection closes after it. */
  close: boolean;
  /** The connection ends with this error of HTTP/2. */
  goaway: number | null;
  /** It is not sent: the stream is reset with this error of HTTP/2. */
  reset: number | null;
}

/** What a prepared response depends on. */
type ReplyPlan = Pick<TestServerPlan, 'status' | 'size' | 'chunked' | 'close'> &
  Pick<QueryChanges, 'trailer' | 'goaway' | 'reset'>;

// RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: responses with these statuses have no content.
const WITHOUT_CONTENT = [204, 205, 304];
const CHUNKS = 4;

/** Prepares a response that can be sent any number of times. Without a text it has the plan's size. */
export function prepareReply(plan: ReplyPlan, text = buildContent(plan.size)): Reply {
  const { status, chunked, close, trailer, goaway = null, reset = null } = plan;
  const trailers = trailer ? { [trailer[0]]: trailer[1] } : null;
  const ending = { trailers, close, goaway, reset };
  if (WITHOUT_CONTENT.includes(status)) {
    return { status, headers: {}, chunks: [], last: '', ...ending };
  }
  // In HTTP/1.1 only a chunked message has trailers.
  const length = chunked || trailer ? null : { 'Content-Length': String(text.length) };
  const headers = { 'Content-Type': 'text/plain', ...length };
  const [last = '', ...chunks] = chunked ? splitIntoChunks(text).reverse() : [text];
  return { status, headers, chunks: chunks.reverse(), last, ...ending };
}

/** Sends head and content. A short response takes one write; Node writes `latin1` strings fastest. */
export function sendReply(response: Response, reply: Reply): void {
  const { goaway, close, trailers } = reply;
  if (reply.reset !== null) {
    reset(response, reply.reset);
    return;
  }
  if (goaway !== null) endAfter(response, goaway);
  else if (close) closeAfter(response);
  const writer: Writer = response;
  writer.writeHead(reply.status, reply.headers);
  if (trailers !== null) writer.addTrailers(trailers);
  if (reply.chunks.length === 0) writer.end(reply.last, 'latin1');
  else sendChunks(writer, reply);
}

/** Sends each chunk in a turn of the event loop of its own, since Node joins chunks written in the same turn. */
async function sendChunks(writer: Writer, { chunks, last }: Reply): Promise<void> {
  for (const chunk of chunks) {
    writer.write(chunk, 'latin1');
    await nextTurn();
  }
  writer.end(last, 'latin1');
}

function buildContent(size: number | null): string {
  return size === null ? 'hello, world\n' : 'millrace\n'.repeat(size / 9 + 1).slice(0, size);
}

/** Splits a text into chunks of similar length. None is empty, as an empty chunk would end the message. */
function splitIntoChunks(text: string): string[] {
  const length = Math.ceil(text.length / CHUNKS) || 1;
  return text.match(new RegExp(`[^]{${length}}|[^]+$`, 'g')) ?? [];
}
