import { native } from './native.js';

/** Servers that want to be served while the event loop is busy. */
const wanting = new Set<object>();

/** Has a second thread serve what needs no JavaScript while this one is busy, as long as any server wants it. */
export function wantCompanion(server: object, wants: boolean): void {
  const before = wanting.size;
  if (wants) wanting.add(server);
  else wanting.delete(server);
  if (before > 0 === wanting.size > 0) return;
  try {
    native.stackCompanion(wanting.size > 0);
  } catch {
    // There may be no more threads: then hits wait for the loop like everything else.
  }
}
