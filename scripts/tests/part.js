// One part of a run in a process of its own, so that its Node.js may be another than that of the run: takes
// `{ files, atOnce }` from its parent, and sends what `run()` of node:test reports.
import { once } from 'node:events';
import { run } from 'node:test';

/** A test that takes longer does not end. */
const TIME_LIMIT_MS = 600_000;

// Where the run has gone, nobody wants the rest.
const onLost = () => process.exit(1);
process.on('disconnect', onLost);
const [{ files, atOnce }] = await once(process, 'message');
for await (const { type, data } of run({ files, concurrency: atOnce, timeout: TIME_LIMIT_MS })) {
  await send({ type, data: plain(data) });
}
process.off('disconnect', onLost);
process.disconnect();

function send(message) {
  return new Promise((resolve) => process.send(message, resolve));
}

/** What JSON carries of it: of an error, what reporters print. */
function plain(data) {
  const error = data.details?.error;
  return error ? { ...data, details: { ...data.details, error: plainError(error) } } : data;
}

function plainError(error) {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, code, failureType, expected, actual, operator, cause } = error;
  const plain = { name, message, stack, code, failureType, operator, isError: true };
  return { ...plain, expected: shown(expected), actual: shown(actual), cause: plainError(cause) };
}

/** What JSON cannot carry is carried as text. */
function shown(value) {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return String(value);
  }
}
