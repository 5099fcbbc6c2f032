// Converts errors of tests to JSON and back, for sending them between processes. Reporters need real errors.

const MAX_CAUSES = 5;

/** Converts the data of an event for JSON. */
export function toPlain(data) {
  return convertError(data, (error) => toPlainError(error, 0));
}

/** Restores the data of an event. */
export function fromPlain(data) {
  return convertError(data, toRealError);
}

function convertError(data, change) {
  const error = data.details?.error;
  return error ? { ...data, details: { ...data.details, error: change(error) } } : data;
}

function toPlainError(error, depth) {
  if (!(error instanceof Error)) return formatValue(error);
  const { name, message, stack, code, failureType, expected, actual, operator, cause } = error;
  return {
    ...{ isError: true, name, message, stack, code, failureType, operator },
    ...{ expected: formatValue(expected), actual: formatValue(actual) },
    cause: depth < MAX_CAUSES ? toPlainError(cause, depth + 1) : undefined,
  };
}

/** Formats values that JSON does not support as text. */
function formatValue(value) {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return String(value);
  }
}

function toRealError(plain) {
  if (!plain?.isError) return plain;
  const { isError: _, cause, ...fields } = plain;
  return Object.assign(new Error(plain.message), fields, { cause: toRealError(cause) });
}
