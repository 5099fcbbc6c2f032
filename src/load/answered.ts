import type { LoadResult } from './result.js';

/** The part of a result, of all requests or of those with one name, that says whether they were answered. */
export interface AnsweredPart {
  requests: Pick<LoadResult['requests'], 'ok' | 'statusErrors' | 'sent' | 'inFlightAtEnd'>;
  /** Absent in results of earlier versions. */
  unfinished?: LoadResult['unfinished'] | undefined;
}

/** Whether a response ended: without one only lower bounds are known of the latency. */
export function hasResponse({
  requests,
}: {
  requests: Pick<AnsweredPart['requests'], 'ok' | 'statusErrors'>;
}): boolean {
  return requests.ok + requests.statusErrors > 0;
}

/** Whether anything was answered: by a response, or by the head of one that has not ended. */
export function isAnswered({ requests, unfinished }: AnsweredPart): boolean {
  return hasResponse({ requests }) || countUnfinished({ unfinished }) > 0;
}

/**
 * Whether no request succeeded. Where none has ended, responses whose heads say success count as answers: a stream of events
 * never ends.
 */
export function hasNoSuccess({ requests, unfinished }: AnsweredPart): boolean {
  const { ok, sent, inFlightAtEnd } = requests;
  return ok === 0 && (sent > inFlightAtEnd || (unfinished?.succeeding ?? 0) === 0);
}

/** Counts the responses that began and did not end. */
export function countUnfinished({ unfinished }: Pick<AnsweredPart, 'unfinished'>): number {
  return unfinished === undefined ? 0 : unfinished.atEnd + unfinished.timedOut;
}
