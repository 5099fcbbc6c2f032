import type { FailingResponse, LoadResult } from '../../load/result.js';
import { describeFailingResponse, formatFailingBody, formatFailingLabel } from '../failing.js';
import { formatField, type Sheet } from './sheet.js';

/** Maximum length of responses on a terminal; JSON and page contain them in full. */
const MAX_RESPONSES = 4;
const MAX_HEAD_LINES = 10;
const MAX_BODY_LINES = 6;
const MAX_BODY_CHARACTERS = 400;

/** Formats the first response of each failing status, and of each error that cut off a response. */
export function formatFailingResponses(
  { failingResponses = [] }: LoadResult,
  sheet: Sheet,
): string[] {
  const lines = failingResponses.slice(0, MAX_RESPONSES).flatMap((it) => formatResponse(it, sheet));
  const more = failingResponses.length - MAX_RESPONSES;
  return more > 0
    ? [...lines, ...formatField(sheet, '', `${more} more in the JSON result`, 'dim')]
    : lines;
}

function formatResponse(response: FailingResponse, sheet: Sheet): string[] {
  const head = response.head === '' ? [] : response.head.split('\n');
  const text = formatFailingBody(response);
  const body = text === '' ? [] : text.slice(0, MAX_BODY_CHARACTERS).split(/\r?\n/);
  const isCut = text.length > MAX_BODY_CHARACTERS || body.length > MAX_BODY_LINES;
  const lines = [
    ...cutLines(head, MAX_HEAD_LINES),
    ...(head.length > 0 && body.length > 0 ? [''] : []),
    ...body.slice(0, MAX_BODY_LINES),
    ...(isCut ? ['…'] : []),
  ];
  return [
    ...formatField(sheet, formatFailingLabel(response), describeFailingResponse(response), 'bad'),
    ...lines.flatMap((line) => formatField(sheet, '', line, 'dim')),
  ];
}

function cutLines(lines: string[], maxLines: number): string[] {
  return lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), '…'];
}
