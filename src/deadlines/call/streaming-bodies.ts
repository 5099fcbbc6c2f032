/** What the head of a response says about how long its body may take. */
export type StreamingHint =
  /** It may be silent, and last, as long as it likes. */
  | 'unbound'
  /** It has no end of its own; something comes again and again. */
  | 'records'
  /** Nothing. */
  | null;

export interface Head {
  /** `Content-Type`. */
  type: string | undefined;
  /** `Content-Length`. */
  length: string | undefined;
  /** Of the request, with its query. */
  path: string;
}

/** Events of servers and cameras; Kubernetes names its watches so where they are no JSON. */
const UNBOUND =
  /^(?:text\/event-stream|multipart\/x-mixed-replace)[ \t]*(?:;|$)|;[ \t]*stream=watch\b/i;
/** Records one after the other: lines, and the frames of RPCs and of AWS. */
const RECORDS =
  /^application\/(?:(?:x-)?(?:ndjson|jsonl|jsonlines|json-?seq|json-stream|stream\+json)|connect\+|grpc|vnd\.amazon\.eventstream)/i;
/** What asks for all that is yet to come: watches and logs, of Kubernetes and of others. */
const ASKS_FOR_MORE = /[?&](?:watch|follow)=(?:1|true)(?:&|$)/i;

export function streamingHint({ type = '', length, path }: Head): StreamingHint {
  if (UNBOUND.test(type)) return 'unbound';
  if (length !== undefined) return null;
  if (ASKS_FOR_MORE.test(path)) return 'unbound';
  return RECORDS.test(type) ? 'records' : null;
}

const LINE_FEED = 0x0a;

/** Of all pieces, the share that has to end a line: a long record comes in several. Of a text without records some do by chance. */
const LEAST_SHARE = 1 / 4;

/**
 * What comes of a body, from the first look at its call on. Records are written one by one, each with the end of its
 * line. An answer that is written slowly, or stops, does not end with a line again and again.
 */
export class Pieces {
  private pieces = 0;
  private lines = 0;

  take(piece: unknown): void {
    if (!(piece instanceof Uint8Array) || piece.length === 0) return;
    this.pieces++;
    // One that is nothing but the end of a line keeps a connection open.
    if (piece.length > 1 && piece[piece.length - 1] === LINE_FEED) this.lines++;
  }

  get areLines(): boolean {
    return this.lines > 1 && this.lines >= this.pieces * LEAST_SHARE;
  }
}
