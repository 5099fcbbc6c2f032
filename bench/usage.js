/** Ends with one line that says what was wrong. */
export function usage(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}
