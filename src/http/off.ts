import { usageError } from '../errors.js';

const given = process.env.MILLRACE_STACK ?? '';
if (given !== '' && given !== 'node') {
  throw usageError(`MILLRACE_STACK: '${given}' given; accepted: node, which turns the stack off`);
}

/** The environment wants Node's own stack, whichever way this one is asked for. */
export const isOff = given === 'node';
