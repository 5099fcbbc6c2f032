import type {
  ErrorKind,
  FailingResponse,
  LoadResult,
  UnfinishedResponses,
} from '../load/result.js';
import { addByKey, addCounts, chooseExample, readCount, TimeSum } from './counts.js';

/** Responses that had begun and not ended, added up. */
export class UnfinishedSum {
  readonly #counts = { atEnd: 0, succeeding: 0, timedOut: 0, bytes: 0 };
  readonly #head = new TimeSum();

  add({ headMs, ...counts }: UnfinishedResponses): void {
    addCounts(this.#counts, counts);
    if (headMs !== null) this.#head.add(headMs * (counts.atEnd + counts.timedOut));
  }

  finish(): UnfinishedResponses {
    const { atEnd, succeeding, timedOut, bytes } = this.#counts;
    const count = atEnd + timedOut;
    const headMs = count === 0 ? null : this.#head.ms / count;
    return { atEnd, succeeding, timedOut, headMs, bytes };
  }
}

/** Numbers of responses by status, added up. */
export class StatusSum {
  readonly #counts = new Map<string, number>();

  add(statusCodes: LoadResult['statusCodes']): void {
    addByKey(this.#counts, statusCodes);
  }

  finish(): LoadResult['statusCodes'] {
    return Object.fromEntries(this.#counts);
  }
}

/** Errors by kind, added up, with one of their messages. */
export class ErrorSum {
  readonly #kinds = new Map<ErrorKind, { count: number; example: string | null }>();

  add(errors: readonly { kind: ErrorKind; count: number; example?: string | null }[]): void {
    for (const { kind, count, example = null } of errors) {
      const known = this.#kinds.get(kind) ?? { count: 0, example: null };
      this.#kinds.set(kind, {
        count: known.count + readCount(count),
        example: chooseExample(known.example, example),
      });
    }
  }

  finish(): LoadResult['errors'] {
    return [...this.#kinds]
      .map(([kind, { count, example }]) => ({ kind, count, example }))
      .sort((one, other) => other.count - one.count || (one.kind < other.kind ? -1 : 1));
  }
}

/** One failing response of each status and kind of error. */
export class FailingSum {
  readonly #responses = new Map<string, string>();

  add(failing: readonly FailingResponse[]): void {
    for (const response of failing) {
      const key = `${response.status} ${response.error}`;
      const text = JSON.stringify(response);
      this.#responses.set(key, chooseExample(this.#responses.get(key) ?? null, text) ?? text);
    }
  }

  finish(): FailingResponse[] {
    const responses = [...this.#responses.values()].map(
      (text) => JSON.parse(text) as FailingResponse,
    );
    return responses.sort(
      (one, other) =>
        (one.status ?? Number.POSITIVE_INFINITY) - (other.status ?? Number.POSITIVE_INFINITY) ||
        ((one.error ?? '') < (other.error ?? '') ? -1 : 1),
    );
  }
}
