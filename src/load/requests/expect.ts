import { usageError } from '../../errors/millrace-error.js';
import { mustBe } from '../../validation/shape.js';
import { DEFAULTS } from '../defaults.js';
import { findGrpcStatus, formatStatus, refuseOtherName } from '../grpc-statuses.js';
import type { LoadOptions } from '../options.js';

const MIN_STATUS = 100;
const MAX_STATUS = 999;
const ACCEPTED_GRPC =
  "statuses of gRPC, such as 'OK,NOT_FOUND' or '0,5', or of HTTP, such as '5xx'";
const ACCEPTED = "statuses, classes or ranges, such as '2xx' or '200-204,3xx,404'";

/**
 * Reads the statuses that count as a success: statuses (`404`), classes (`2xx`) and ranges (`200-204`); of gRPC names (`OK`) and
 * numbers.
 */
export function readExpect(
  value: LoadOptions['expect'],
  name = 'expect',
  isGrpc = false,
): string[] {
  if (value === undefined) return [...DEFAULTS.expect];
  const words = [value].flat().flatMap((word) => String(word).split(','));
  if (words.length === 0) throw usageError(`${name} must be ${ACCEPTED} (got an empty list)`);
  return words.map((word) => {
    const pattern = word.trim().toLowerCase();
    const status = findGrpcStatus(pattern);
    if (status !== null && !isGrpc) {
      const { message } = mustBe(name, ACCEPTED, word);
      throw usageError(`${message}: it is a status of gRPC, and no call of gRPC is made`);
    }
    if (status !== null) return formatStatus(status);
    if (readHttpBounds(pattern) !== null) return pattern;
    if (isGrpc) refuseOtherName(word.trim(), name);
    throw mustBe(name, isGrpc ? ACCEPTED_GRPC : ACCEPTED, word);
  });
}

/** Splits and checks a list of statuses where it is not known yet whether the requests are calls of gRPC. */
export function splitExpect(value: string, name: string): string[] {
  const words = value.split(',').map((word) => word.trim());
  const isOfGrpc = (word: string) => findGrpcStatus(word) !== null || /^[a-z_]{2,}$/i.test(word);
  for (const word of words) if (!isOfGrpc(word)) readExpect(word, name);
  return words;
}

/** Lists the statuses that the patterns contain. */
export function listExpectedStatuses(patterns: readonly string[]): number[] {
  const statuses = new Set<number>();
  for (const pattern of patterns) {
    const [from, to] = readBounds(pattern) ?? [MIN_STATUS, MIN_STATUS - 1];
    for (let status = from; status <= to; status++) statuses.add(status);
  }
  return [...statuses];
}

/** Whether a status counts as a success; without patterns, as in results of older versions, by default. */
export function isExpected(
  { expect = [...DEFAULTS.expect] }: { expect?: string[] },
  status: number,
): boolean {
  return expect.some((pattern) => {
    const [from, to] = readBounds(pattern) ?? [1, 0];
    return status >= from && status <= to;
  });
}

/** What error statuses are, in words. */
export function nameStatusErrors({ plan, statusCodes }: StatusErrors): string {
  const hasCalls =
    plan.grpc !== undefined || Object.keys(statusCodes).some((it) => Number(it) < 100);
  return isDefaultExpect(plan) && !hasCalls ? 'status 4xx/5xx' : 'other status';
}

/** What the name of error statuses depends on. */
interface StatusErrors {
  plan: { expect?: string[]; grpc?: string };
  statusCodes: Record<string, number>;
}

/** Whether the patterns are the default ones: statuses from 400 on are errors. */
export function isDefaultExpect({ expect = [...DEFAULTS.expect] }: { expect?: string[] }): boolean {
  return expect.join() === DEFAULTS.expect.join();
}

function readBounds(pattern: string): [from: number, to: number] | null {
  const status = findGrpcStatus(pattern);
  return status === null ? readHttpBounds(pattern) : [status, status];
}

function readHttpBounds(pattern: string): [from: number, to: number] | null {
  const [, digit] = /^([1-9])xx$/.exec(pattern) ?? [];
  if (digit !== undefined) return [Number(digit) * 100, Number(digit) * 100 + 99];
  const [, from, to = from] = /^([1-9]\d\d)(?:-([1-9]\d\d))?$/.exec(pattern) ?? [];
  if (from === undefined || Number(from) > Number(to)) return null;
  return [Number(from), Math.min(Number(to), MAX_STATUS)];
}
