/** Nanoseconds of a fraction of a second that is written in decimal digits. */
const readNanos = (fraction = '') => Number(fraction.padEnd(9, '0').slice(0, 9));

/**
 * Reads a value of JSON that stands for a message of a well-known type (the JSON mapping of proto3): a time, a duration, or a
 * wrapper. `undefined`: it is of no such type, or an object as of other messages.
 */
export function readWellKnown(value: unknown, fullName: string): unknown {
  const [, name] = /^\.google\.protobuf\.(\w+)$/.exec(fullName) ?? [];
  if (name === undefined || typeof value === 'object') return undefined;
  if (/Value$/.test(name)) return { value };
  if (typeof value !== 'string') return undefined;
  if (name === 'Timestamp') {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) return undefined;
    const [, fraction] = /\.(\d+)/.exec(value) ?? [];
    return { seconds: Math.floor(ms / 1000), nanos: readNanos(fraction) };
  }
  const [, sign, seconds, fraction] = /^(-?)(\d+)(?:\.(\d+))?s$/.exec(value) ?? [];
  if (name !== 'Duration' || seconds === undefined) return undefined;
  const factor = sign === '-' ? -1 : 1;
  return { seconds: factor * Number(seconds), nanos: factor * readNanos(fraction) };
}
