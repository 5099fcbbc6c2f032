import type { FailingResponse, LoadResult } from '../../load/result.js';
import { failingBody, failingLabel, failingOrigin } from '../failing.js';
import { field, type Sheet } from './sheet.js';

/** What a terminal shows of each; JSON and page have it all. */
const RESPONSES = 4;
const HEAD_LINES = 10;
const BODY_LINES = 6;
const BODY_CHARACTERS = 400;

/** The first response of each status that is no success, and of each error that broke one off. */
export function failingLines({ failingResponses = [] }: LoadResult, sheet: Sheet): string[] {
  const shown = failingResponses.slice(0, RESPONSES).flatMap((it) => linesOf(it, sheet));
  const more = failingResponses.length - RESPONSES;
  return more > 0
    ? [...shown, ...field(sheet, '', `${more} more in the JSON result`, 'dim')]
    : shown;
}

function linesOf(response: FailingResponse, sheet: Sheet): string[] {
  const head = response.head === '' ? [] : response.head.split('\n');
  const text = failingBody(response);
  const body = text === '' ? [] : text.slice(0, BODY_CHARACTERS).split(/\r?\n/);
  const isCut = text.length > BODY_CHARACTERS || body.length > BODY_LINES;
  const lines = [
    ...cut(head, HEAD_LINES),
    ...(head.length > 0 && body.length > 0 ? [''] : []),
    ...body.slice(0, BODY_LINES),
    ...(isCut ? ['…'] : []),
  ];
  return [
    ...field(sheet, failingLabel(response), failingOrigin(response), 'bad'),
    ...lines.flatMap((line) => field(sheet, '', line, 'dim')),
  ];
}

function cut(lines: string[], most: number): string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most), '…'];
}
