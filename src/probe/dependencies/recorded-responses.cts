/** A response to a GET or HEAD request, as it was received. */
export interface RecordedResponse {
  status: number;
  statusText: string;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer;
}

/** Maximum of one body, of all bodies, and of the responses. */
const [MAX_BODY_BYTES, MAX_TOTAL_BYTES, MAX_RESPONSES] = [1024 * 1024, 64 * 1024 * 1024, 2000];

/** Header fields in which requests for the same content differ: they name the trace or the request. */
const PER_REQUEST_FIELD =
  /^(?:traceparent|tracestate|baggage|b3|x-b3-.*|x-(?:request|correlation)-id|x-amzn-trace-id|sentry-trace)$/;

/** Fields of responses that are not the same for every request. */
const UNREPEATABLE_FIELDS = new Set(['set-cookie', 'trailer', 'upgrade']);

/** Responses of one origin, by request. */
export class RecordedResponses {
  readonly origin: string;
  #answered = 0;
  #passed = 0;
  readonly #responses = new Map<string, RecordedResponse>();
  #bytes = 0;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Finds the response to a request, and counts the request. */
  answer(key: string | null): RecordedResponse | null {
    const known = key === null ? undefined : this.#responses.get(key);
    if (known) this.#answered++;
    else this.#passed++;
    return known ?? null;
  }

  /** Returns how many requests were answered from memory, and how many went out, since the last call. */
  takeCounts(): { answered: number; passed: number } {
    const counts = { answered: this.#answered, passed: this.#passed };
    this.#answered = 0;
    this.#passed = 0;
    return counts;
  }

  /** Begins to record a response; `null` if it is not kept. */
  record(
    key: string,
    status: number,
    statusText: string,
    headers: string[],
  ): ResponseRecorder | null {
    if (status !== 200 || this.#responses.size >= MAX_RESPONSES) return null;
    for (let index = 0; index < headers.length; index += 2) {
      const [name = '', value = ''] = headers.slice(index, index + 2);
      if (UNREPEATABLE_FIELDS.has(name.toLowerCase())) return null;
      if (name.toLowerCase() === 'vary' && value.includes('*')) return null;
    }
    return new ResponseRecorder((body) => {
      if (this.#responses.has(key) || this.#responses.size >= MAX_RESPONSES) return;
      if (this.#bytes + body.length > MAX_TOTAL_BYTES) return;
      this.#bytes += body.length;
      this.#responses.set(key, { status, statusText, headers, body });
    });
  }
}

/** Collects the body of a response. */
export class ResponseRecorder {
  readonly #keep: (body: Buffer) => void;
  #parts: Buffer[] | null = [];
  #bytes = 0;

  constructor(keep: (body: Buffer) => void) {
    this.#keep = keep;
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BODY_BYTES) this.#parts = null;
    // The bytes may be changed once they have been passed on.
    this.#parts?.push(Buffer.from(chunk));
  }

  /** Keeps the response: its body is complete. */
  finish(): void {
    if (this.#parts) this.#keep(Buffer.concat(this.#parts));
    this.#parts = null;
  }
}

/**
 * Builds the key of a request: method, target, and all fields, of which credentials are some, except those that differ
 * for every request. Requests with other keys are not answered alike.
 *
 * @param fields name and value of each
 */
export function buildRequestKey(
  method: string,
  target: string,
  fields: Iterable<[name: string, value: string]>,
): string {
  const lines: string[] = [];
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (!PER_REQUEST_FIELD.test(lower)) lines.push(`${lower}: ${value}`);
  }
  return [`${method} ${target}`, ...lines.sort()].join('\n');
}
