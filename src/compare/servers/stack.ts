import { readFileSync } from 'node:fs';
import type { ComparisonStackShare } from '../result.js';

const REGISTER = new URL('../../http/register.js', import.meta.url).href;

/**
 * Builds the environment of a command that is to run on Millrace's HTTP stack and to write its statistics to `statsFile`,
 * or, without a file, on Node's own stack even where it loads Millrace's itself.
 */
export function buildStackEnvironment(
  own: NodeJS.ProcessEnv,
  statsFile: string | null,
): NodeJS.ProcessEnv {
  if (statsFile === null) return { ...own, MILLRACE_STACK: 'node', MILLRACE_STATS_FILE: '' };
  const options = `${own.NODE_OPTIONS ?? ''} --import ${REGISTER}`.trim();
  return { ...own, NODE_OPTIONS: options, MILLRACE_STACK: '', MILLRACE_STATS_FILE: statsFile };
}

/** What the load engine says of a server without HTTP/2. */
const NO_HTTP2 =
  /the server speaks (?:no HTTP\/2 over TLS \(ALPN\)|HTTP\/1\.1): leave out --(http2|h2c)\b.*/;

/** Puts in place of the engine's advice how Node's own stack is compared with HTTP/2 on Millrace's. */
export function adviseOnHttp2(message: string): string {
  return message.replace(NO_HTTP2, (_, flag) => {
    const url = flag === 'h2c' ? 'an https:// URL with ' : '';
    return `on Node's own HTTP stack the server speaks HTTP/1.1 only: set MILLRACE_HTTP2=on and use ${url}--prefer-http2 in place of --${flag}, so that A speaks HTTP/1.1 and B HTTP/2`;
  });
}

interface StackTotals {
  requests: { native: number; fallback: number };
  fallbackReasons: Record<string, number>;
}

/** Adds up the statistics that processes with the stack wrote at their end; `null` if none did. */
export function readStackShare(statsFile: string): ComparisonStackShare | null {
  const lines = readLines(statsFile);
  if (lines.length === 0) return null;
  const share: ComparisonStackShare = { native: 0, fallback: 0, fallbackReasons: {} };
  for (const { requests, fallbackReasons } of lines) {
    share.native += requests.native;
    share.fallback += requests.fallback;
    for (const [reason, connections] of Object.entries(fallbackReasons)) {
      share.fallbackReasons[reason] = (share.fallbackReasons[reason] ?? 0) + connections;
    }
  }
  return share;
}

function readLines(file: string): StackTotals[] {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return text.split('\n').map((line) => JSON.parse(line) as StackTotals);
  } catch {
    // No process wrote any, or one was killed as it wrote.
    return [];
  }
}
