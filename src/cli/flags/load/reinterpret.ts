import type { Flag } from '../flag.js';
import { isBody, setBody } from './body.js';
import type { Invocation } from './invocation.js';

/**
 * Stores a value that has another meaning in another tool, and returns the note that says how it was understood; `null`
 * for a value that has the meaning of millrace.
 */
type Reinterpretation = (invocation: Invocation, value: string, flag: string) => string | null;

/** Returns a flag that leaves some values to `reinterpretation`. */
export function reinterpret<Into extends Invocation>(
  flag: Flag<Into>,
  reinterpretation: Reinterpretation,
): Flag<Into> {
  return {
    ...flag,
    set(into, value, typed) {
      const note = reinterpretation(into, value, typed);
      if (note === null) flag.set(into, value, typed);
      else into.notes.push(note);
    },
  };
}

/** Takes a body where a duration is expected, as `-d` has it in other tools; `example` is a duration for the note. */
export function bodyForDuration(example: string): Reinterpretation {
  return ({ options }, value, flag) => {
    if (!isBody(value)) return null;
    setBody(options, value);
    return `${flag} '${value}' is taken as --body; a duration is ${flag} ${example}`;
  };
}
