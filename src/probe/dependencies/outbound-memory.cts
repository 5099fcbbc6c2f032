import type { ClientRequestMemory } from './client-request-memory.cjs';
import { DispatchMemory } from './dispatch-memory.cjs';
import { RecordedResponses } from './recorded-responses.cjs';
import type { UndiciDispatches } from './undici-dispatches.cjs';

/** Answers outbound requests to one origin with responses that were recorded from it. */
export class OutboundMemory {
  readonly #requests: ClientRequestMemory;
  readonly #dispatches: DispatchMemory;
  /** Kept for later blocks of the same experiment. */
  #responses: RecordedResponses | null = null;

  constructor(requests: ClientRequestMemory, dispatches: UndiciDispatches) {
    this.#requests = requests;
    this.#dispatches = new DispatchMemory(dispatches);
  }

  /** Answers requests to an origin from now on; `null` ends it. Returns how many since the last call, and how many not. */
  answer(origin: string | null): { answered: number; passed: number } {
    const before = this.#responses;
    const counts = before?.takeCounts() ?? { answered: 0, passed: 0 };
    if (origin !== null && origin !== before?.origin)
      this.#responses = new RecordedResponses(origin);
    const responses = origin === null ? null : this.#responses;
    this.#requests.responses = responses;
    this.#dispatches.responses = responses;
    return counts;
  }

  /** Undoes all changes, and forgets the responses. */
  restore(): void {
    this.answer(null);
    this.#responses = null;
  }
}
