/** What the headers of a response say about the duration of its body. */
export type StreamingHint =
  /** It may be idle, and last as long as it likes. */
  | 'unbounded'
  /** It has no end of its own, and sends records again and again. */
  | 'records'
  | null;

export interface ResponseHints {
  /** `Content-Type`. */
  type: string | undefined;
  /** `Content-Length`. */
  length: string | undefined;
  /** Path of the request, with its query. */
  path: string;
}

/** Event streams of servers and cameras; `stream=watch` is a watch of Kubernetes that is not JSON. */
const EVENT_STREAMS =
  /^(?:text\/event-stream|multipart\/x-mixed-replace)[ \t]*(?:;|$)|;[ \t]*stream=watch\b/i;
/** Streams of records: lines, and the frames of RPCs and of AWS. */
const RECORD_STREAMS =
  /^application\/(?:(?:x-)?(?:ndjson|jsonl|jsonlines|json-?seq|json-stream|stream\+json)|connect\+|grpc|vnd\.amazon\.eventstream)/i;
/** Queries for watches and logs, of Kubernetes and others. */
const WATCH_QUERY = /[?&](?:watch|follow)=(?:1|true)(?:&|$)/i;

export function findStreamingHint({ type = '', length, path }: ResponseHints): StreamingHint {
  if (EVENT_STREAMS.test(type)) return 'unbounded';
  if (length !== undefined) return null;
  if (WATCH_QUERY.test(path)) return 'unbounded';
  return RECORD_STREAMS.test(type) ? 'records' : null;
}

const LINE_FEED = 0x0a;

/**
 * Minimum ratio of chunks that end a line: a long record arrives in several. In text without records some chunks do
 * so by chance.
 */
const MIN_LINE_RATIO = 1 / 4;

/**
 * Detects records in the chunks of a body, from the first check of its call on. Records are written one by one, each
 * with the end of its line. The chunks of a slow response, or of one that stops, rarely end with a line.
 */
export class RecordDetector {
  private chunks = 0;
  private lines = 0;

  addChunk(chunk: unknown): void {
    if (!(chunk instanceof Uint8Array) || chunk.length === 0) return;
    this.chunks++;
    // A chunk of nothing but a line end keeps a connection open.
    if (chunk.length > 1 && chunk[chunk.length - 1] === LINE_FEED) this.lines++;
  }

  get hasRecords(): boolean {
    return this.lines > 1 && this.lines >= this.chunks * MIN_LINE_RATIO;
  }
}
