import { readFileSync } from 'node:fs';

let version: string | undefined;

/** The version of this package. */
export function packageVersion(): string {
  if (version === undefined) {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    version = (JSON.parse(manifest) as { version: string }).version;
  }
  return version;
}
