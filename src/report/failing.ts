import { formatStatus } from '../load/grpc-statuses.js';
import type { FailingResponse } from '../load/result.js';

/** Formats the kind of a failing response: `503`, `reset`. */
export function formatFailingLabel({ status, error }: FailingResponse): string {
  return status === null ? String(error) : formatStatus(status);
}

/** Describes the request of a failing response, and how complete the response is. */
export function describeFailingResponse({ error, request }: FailingResponse): string {
  const how = error === null ? 'first response' : 'partial response before the first error';
  return `${how}, to ${request.method} ${request.url}`;
}

/** Formats the content of a failing response; an ellipsis marks a truncated one. */
export function formatFailingBody({ body, bodyTruncated }: FailingResponse): string {
  return bodyTruncated ? `${body} …` : body;
}
