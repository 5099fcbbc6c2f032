// Puts the stack into one file, `dist/http/stack.cjs`: to load its eighty ES modules one by one would delay the start of an
// application by a tenth of a second. Runs after `tsc`, whose `dist` is complete, too, but slower to load. The ES module
// `stack.js`, which the entry points import, then refers to that file, so that there is one copy of the stack.
//
//   node scripts/bundle-stack.js
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const bundle = join(root, 'dist', 'http', 'stack.cjs');

const MODULE_URL = `'use strict';
const moduleUrl = require('node:url').pathToFileURL(require('node:path').join(__dirname, 'stack.js')).href;`;

/** `import net, { Socket } from 'node:net';` */
const IMPORT = /^import (?!type )(?:(\w+))?(?:, )?(?:\{([^}]*)\})? from '(node:[\w/]+)';$/gm;

/**
 * Built-in modules are taken as they are: not by `require`, which tracers replace, and without esbuild's wrapper around a
 * CommonJS module, whose getters would be on the path of every request.
 */
const builtins = {
  name: 'builtins',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(IMPORT, takeBuiltin),
      loader: 'ts',
    }));
  },
};

function takeBuiltin(text, all, names, module) {
  const wanted = (names ?? '').split(',').map((name) => name.trim());
  const values = wanted.filter((name) => name !== '' && !name.startsWith('type '));
  const pattern = values.map((name) => name.replace(' as ', ': ')).join(', ');
  const taken = `process.getBuiltinModule('${module}')`;
  const lines = '\n'.repeat(text.split('\n').length - 1); // The source map counts them.
  return [all && `const ${all} = ${taken};`, pattern && `const { ${pattern} } = ${taken};`, lines]
    .filter(Boolean)
    .join(' ');
}

await build({
  entryPoints: [join(root, 'src', 'http', 'stack.ts')],
  outfile: bundle,
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  // `sideEffects` of package.json are those of `dist`.
  ignoreAnnotations: true,
  plugins: [builtins],
  // Modules of `dist` find the package's files from their own place.
  define: { 'import.meta.url': 'moduleUrl' },
  banner: { js: MODULE_URL },
});

// Loaded turned off: the names do not depend on the addon, which is that of another platform in a release.
process.env.MILLRACE_STACK = 'node';
rmSync(join(root, 'dist', 'http', 'stack.js.map'), { force: true });
const names = Object.keys(createRequire(import.meta.url)(bundle)).join(', ');
writeFileSync(
  join(root, 'dist', 'http', 'stack.js'),
  `// Written by scripts/bundle-stack.js.
const { createRequire } = process.getBuiltinModule('node:module');
export const { ${names} } = createRequire(import.meta.url)('./stack.cjs');
`,
);
