import { fromEnvironment } from '../environment.js';
import { usageError } from '../errors.js';

/** The environment wants Node's own stack, whichever way this one is asked for. */
export const isOff = fromEnvironment(() => {
  const given = process.env.MILLRACE_STACK ?? '';
  if (given === '' || given === 'node') return given === 'node';
  throw usageError(`MILLRACE_STACK: '${given}' given; accepted: node, which turns the stack off`);
});
