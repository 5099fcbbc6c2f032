import type { LoadOptions } from '../../../index.js';

/** Adds headers to those that earlier flags have set. */
export function addHeaders(options: LoadOptions, headers: [name: string, value: string][]): void {
  // Flags store headers as pairs only.
  const earlier = (options.headers as [string, string][] | undefined) ?? [];
  options.headers = [...earlier, ...headers];
}
