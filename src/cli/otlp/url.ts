import { mustBe } from '../../validation/shape.js';

/** Where a collector takes metrics, if its URL has no path. */
const PATH = '/v1/metrics';

/** Reads the URL of a collector. */
export function parseOtlpUrl(value: string, flag: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw mustBe(flag, 'a URL such as http://localhost:4318', value);
  }
  if (url.pathname === '/') url.pathname = PATH;
  return url.href;
}
