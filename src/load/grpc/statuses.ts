/** Names of the statuses of gRPC, by number. Numbers below 100 are statuses of gRPC, others those of HTTP. */
const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** Returns how a status is shown: one of gRPC by its name, one of HTTP by its number. */
export function formatStatus(status: number | string): string {
  return NAMES[Number(status)] ?? String(status);
}

/** Finds the number of a status of gRPC by its name, in upper or lower case, or by its number; `null`: it is none. */
export function findGrpcStatus(text: string): number | null {
  const number = /^\d{1,2}$/.test(text)
    ? Number(text)
    : NAMES.indexOf(text.toUpperCase() as (typeof NAMES)[number]);
  return number >= 0 && number < NAMES.length ? number : null;
}
