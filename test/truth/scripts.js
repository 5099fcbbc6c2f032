import { raw, response } from './responses.js';

// Scripts for `startTruthServer`. Those that a child process runs are called with data alone.

const OK = response();

/** Answers at once. */
export function ok() {
  return () => OK;
}

/** Answers at once and closes. */
export function okAndEnd() {
  return () => ({ parts: [OK], ending: 'end' });
}

/** Never answers. */
export function hang() {
  return () => ({ parts: [], ending: 'hang' });
}

/** Answers after a fixed time. */
export function delay(ms) {
  return () => ({ after: ms, parts: [OK] });
}

/** Every `every`-th request takes `slowMs`, the others `fastMs`. */
export function bimodal({ every, fastMs, slowMs }) {
  return ({ index }) => ({ after: index % every === every - 1 ? slowMs : fastMs, parts: [OK] });
}

/**
 * Answers after `delayMs`, but nothing leaves between `atMs` and `atMs + forMs` after the first arrival: all that is
 * due then is released at once, as by a process that is stopped.
 */
export function freeze({ atMs, forMs, delayMs }) {
  let start = null;
  return ({ at }) => {
    start ??= at;
    const due = at + delayMs - start;
    const frozen = due >= atMs && due < atMs + forMs;
    return { after: frozen ? atMs + forMs - (at - start) : delayMs, parts: [OK] };
  };
}

/** Answers in chunks of a byte, each `pauseMs` after the one before; the last one ends the response. */
export function dribble({ chunks, pauseMs }) {
  const head = raw('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '');
  const parts = [head, ...Array(chunks).fill('1\r\nx\r\n'), '0\r\n\r\n'];
  return () => ({ parts, pause: pauseMs });
}
