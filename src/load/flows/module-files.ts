// Which files modules of scenarios consist of, as Node has resolved their imports.
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What each module has imported: URLs by specifier, by the URL of the module. */
const imports = new Map<string, Map<string, string>>();

/** Records that a module imports another one. */
export function noteImport(parent: string | undefined, specifier: string, url: string): void {
  if (parent === undefined) return;
  const known = imports.get(parent) ?? new Map<string, string>();
  imports.set(parent, known.set(specifier, url));
}

/** The files of a module, and the packages that it needs besides. */
export interface ModuleFiles {
  /** Absolute paths, the module's own first: what it imports by relative paths, and the package.json files that apply. */
  files: string[];
  packages: string[];
}

/** Lists the files of a module that has been imported. */
export function listModuleFiles(path: string): ModuleFiles {
  const files = new Set<string>();
  const packages = new Set<string>();
  const pending = [pathToFileURL(realpathSync(path)).href];
  for (const url of pending) {
    const file = fileURLToPath(url);
    if (files.has(file)) continue;
    files.add(file);
    const manifest = findManifest(dirname(file));
    if (manifest !== null) files.add(manifest);
    for (const [specifier, imported] of listImports(url, file)) {
      if (!imported.startsWith('file:')) continue;
      if (isPackage(specifier) || imported.includes('/node_modules/')) {
        packages.add(nameOfPackage(specifier));
      } else pending.push(imported);
    }
  }
  return { files: [...files], packages: [...packages] };
}

function listImports(url: string, file: string): [specifier: string, url: string][] {
  // Before Node 22.15 nobody tells what CommonJS requires.
  const { children = [] } = createRequire(url).cache[file] ?? {};
  const required = children.map(({ filename }): [string, string] => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(filename) ?? [];
    return [name ?? './', pathToFileURL(filename).href];
  });
  return [...(imports.get(url) ?? []), ...required];
}

/** Finds the package.json that says how Node reads the files of a folder. */
function findManifest(folder: string): string | null {
  const path = join(folder, 'package.json');
  if (existsSync(path)) return path;
  const above = dirname(folder);
  return above === folder ? null : findManifest(above);
}

function isPackage(specifier: string): boolean {
  return /^(?:@[^/]+\/)?[\w-]/.test(specifier) && !specifier.startsWith('file:');
}

function nameOfPackage(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}
