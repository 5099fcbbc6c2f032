/** Exits with a message of one line. */
export function exitWithUsageError(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}
