// Adds to package-lock.json the platform packages that the configured registry lacks. Without an
// entry for each of them `npm ci` refuses the lock file (npm/cli #4828), although it would never
// install one that is for another platform. Run it after every change of a dependency:
//
//   npm install && node scripts/complete-lockfile.js
import { readFileSync, writeFileSync } from 'node:fs';

const CPUS = {
  arm64: 'arm64',
  x64: 'x64',
  ia32: 'ia32',
  arm: 'arm',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
};
const SYSTEMS = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'win32',
  'wasi',
  'openharmony',
  'sunos',
  'openbsd',
  'netbsd',
  'aix',
];

/** Derives `os` and `cpu` from the name of a platform package. */
function platformOf(name) {
  const words = name.split(/[-/]/);
  return {
    os: words.filter((word) => SYSTEMS.includes(word)).slice(0, 1),
    cpu: words.filter((word) => word in CPUS).slice(0, 1),
  };
}

const path = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (key in lock.packages) continue;
    const { os, cpu } = platformOf(name);
    const musl = name.endsWith('-musl') ? { libc: ['musl'] } : {};
    lock.packages[key] = { version, cpu, dev: true, ...musl, license: 'MIT', optional: true, os };
  }
}
const sorted = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(path, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`);
