// Writes our license and those of the linked crates into the folder of each platform package:
//
//   node scripts/licenses.js npm/*/
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './step.js';

const RULE = '-'.repeat(80);

/** Lists the external crates that are linked into the addon on any platform. */
function linkedCrates() {
  const edges = ['--edges', 'normal,no-proc-macro', '--target', 'all', '--prefix', 'none'];
  const tree = cargo('tree', '--package', 'millrace-node', ...edges, '--format', '{p}');
  const linked = new Set(tree.split('\n').map((line) => line.split(' ', 2).join(' ')));
  const { packages } = JSON.parse(cargo('metadata', '--format-version', '1'));
  // Crates without a source are our own.
  return packages.filter(
    ({ name, version, source }) => source && linked.has(`${name} v${version}`),
  );
}

function cargo(...args) {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 };
  return execFileSync('cargo', [...args, '--locked'], options);
}

/** Reads the licences and notices of a crate. */
function texts({ name, version, manifest_path }) {
  const folder = dirname(manifest_path);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  // The C library has its own license, in a folder of its name.
  if (name === 'aws-lc-sys') files.push('aws-lc/LICENSE');
  return files.map((file) => ({
    crate: `${name} ${version}`,
    text: readFileSync(join(folder, file), 'utf8').trim(),
  }));
}

/** Joins the licences of all crates: each text once, after the names of its crates. */
function thirdParty(crates) {
  const owners = new Map();
  for (const { crate, text } of crates.flatMap(texts)) {
    owners.set(text, (owners.get(text) ?? new Set()).add(crate));
  }
  const list = crates.map(({ name, version, license }) => `${name} ${version}: ${license}`);
  const sections = [...owners].map(
    ([text, names]) => `${RULE}\n${[...names].join(', ')}\n\n${text}\n`,
  );
  return `The addon is linked from these crates:\n\n${list.join('\n')}\n\n${sections.join('\n')}`;
}

const text = thirdParty(linkedCrates());
for (const folder of process.argv.slice(2)) {
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'LICENSE.third-party'), text);
}
