/**
 * Parses the time in which a task waited for the resource since the machine started, in microseconds; see
 * Documentation/accounting/psi of Linux.
 */
export function parsePressure(text: string): number | null {
  const total = /^some .*total=(\d+)/m.exec(text)?.[1];
  return total === undefined ? null : Number(total);
}
