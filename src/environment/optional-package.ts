import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A package that is not a dependency of this one. */
export interface OptionalPackage {
  /** Resolves names as the folder does in which the package was found. */
  require: NodeJS.Require;
  /** Its entry. */
  path: string;
}

/** Finds a package: the one beside this package, and that of the folder in which the process runs. */
export function findPackages(name: string): OptionalPackage[] {
  return [import.meta.url, join(process.cwd(), 'package.json')].flatMap((from) => {
    const require = createRequire(from);
    const path = findModule(name, require);
    return path === null ? [] : [{ require, path }];
  });
}

/** Finds a module; `null` if there is none. */
export function findModule(name: string, require: NodeJS.Require): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}
