// The table of the deadlines of outbound calls.
import { DEADLINES } from '../../dist/outbound/limits.js';
import { readFields } from './declarations.js';
import { code, formatTable } from './tables.js';

/** The limits, from the fields of an interface of a file. */
export function formatDeadlines(name, file) {
  const rows = readFields(file, name).map(({ name: limit, comment }) => {
    const { variable, defaultValue } = DEADLINES[limit];
    const standard =
      typeof defaultValue === 'number' ? `${defaultValue / 1000} s` : `as ${code(defaultValue)}`;
    return [code(limit), code(variable), standard, comment];
  });
  return formatTable(['Limit', 'Variable', 'Default', 'Time'], rows);
}
