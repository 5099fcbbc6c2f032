/** Ends with one line that says what was wrong. */
export function exitWithUsageError(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}
