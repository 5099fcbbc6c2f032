// Errors of tests on their way from one process to another, as JSON. Reporters look for real errors.

const MOST_CAUSES = 5;

/** What JSON carries of an event's data. */
export function toPlain(data) {
  return withError(data, (error) => plainError(error, 0));
}

/** The data of an event as it was. */
export function fromPlain(data) {
  return withError(data, realError);
}

function withError(data, change) {
  const error = data.details?.error;
  return error ? { ...data, details: { ...data.details, error: change(error) } } : data;
}

function plainError(error, depth) {
  if (!(error instanceof Error)) return shown(error);
  const { name, message, stack, code, failureType, expected, actual, operator, cause } = error;
  return {
    ...{ isError: true, name, message, stack, code, failureType, operator },
    ...{ expected: shown(expected), actual: shown(actual) },
    cause: depth < MOST_CAUSES ? plainError(cause, depth + 1) : undefined,
  };
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

function realError(plain) {
  if (!plain?.isError) return plain;
  const { isError: _, cause, ...fields } = plain;
  return Object.assign(new Error(plain.message), fields, { cause: realError(cause) });
}
