// Taken now: clocks that tests put into `Date` do not change what Node sends either.
const Clock = Date;
const { now } = Clock;

let line = '';
let second = -1;
let fixed = false;

/** Reads the clock once for a whole batch; `false` ends that. */
export function fixDate(value: boolean): void {
  if (value) refresh();
  fixed = value;
}

function refresh(): void {
  const ms = now();
  const present = Math.floor(ms / 1000);
  if (present !== second) {
    second = present;
    line = `Date: ${new Clock(ms).toUTCString()}\r\n`;
  }
}

/** The Date field of a response (RFC 9110, section 6.6.1). */
export function dateLine(): string {
  if (!fixed) refresh();
  return line;
}
