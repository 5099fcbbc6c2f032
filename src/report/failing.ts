import type { FailingResponse } from '../load/result.js';

/** What a failing response is an example of: `503`, `reset`. */
export function formatFailingLabel({ status, error }: FailingResponse): string {
  return String(status ?? error);
}

/** What it answered, and how far it came. */
export function describeFailingResponse({ error, request }: FailingResponse): string {
  const how = error === null ? 'the first one' : 'what came before the first one';
  return `${how}, to ${request.method} ${request.url}`;
}

/** Its content as it is shown, with a mark where it was cut. */
export function formatFailingBody({ body, bodyTruncated }: FailingResponse): string {
  return bodyTruncated ? `${body} …` : body;
}
