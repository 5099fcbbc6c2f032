// Prepares suites: finds the programs that their cases need, and installs or builds what is not there.
import { prepareApplications } from '../apps/packages.js';
import { isOnPath, readNginxVersion, readVersion, tools } from '../clients/tools.js';
import { buildNative } from '../native/bare.js';
import { findRuntimes, readPackageVersions } from '../stack/runtimes.js';
import { findNodes } from './nodes.js';
import { toolOf } from './rounds.js';

/** Finds the installed tools of these cases, and prints the missing ones. */
function findTools(cases) {
  const needed = new Set(cases.flatMap((bench) => bench.tools.map((row) => toolOf(bench, row))));
  const missing = [...needed].filter((name) => !tools[name].find());
  if (missing.length > 0) {
    console.error(`missing: ${missing.join(', ')} (bench/install.sh installs the peers)`);
  }
  return new Set([...needed].filter((name) => !missing.includes(name)));
}

/**
 * Prepares the load suite: `{ runnable, versions, nodes }`, where each of `nodes` has the tools that were found. Prints
 * what is missing.
 */
function prepareLoad(cases) {
  buildNative();
  const found = findTools(cases);
  const nginx = cases.some(({ server }) => server.kind === 'nginx') && isOnPath('nginx') !== null;
  const runnable = cases.filter(({ server }) => nginx || server.kind !== 'nginx');
  if (runnable.length < cases.length) {
    console.error('missing: nginx (bench/install.sh installs it)');
  }
  const versions = Object.fromEntries([...found].map((name) => [name, readVersion(name)]));
  if (nginx) versions.nginx = readNginxVersion();
  const nodes = findNodes().map((node) => ({ ...node, found }));
  return { runnable, versions, nodes };
}

/** Prepares a suite of servers in the same way; the packages of its applications are locked in `folder`. */
function prepareServers(cases, { nodes: wanted, register }, folder) {
  const nodes = findNodes(wanted).map((node) => ({
    ...node,
    found: findRuntimes({ node: node.binary, register }),
  }));
  const [{ found }] = nodes;
  const needed = new Set(cases.flatMap((bench) => bench.tools.map((row) => toolOf(bench, row))));
  const missing = [...needed].filter((name) => !found.has(name));
  if (missing.length > 0) console.error(`missing: ${missing.join(', ')}`);
  const present = [...needed].filter((name) => found.has(name) && name !== 'node');
  const versions = Object.fromEntries(present.map((name) => [name, found.get(name).version]));
  const names = [...new Set(cases.flatMap(({ packages = [] }) => packages))];
  return {
    runnable: cases,
    nodes,
    versions: { ...versions, ...readPackageVersions(folder, names) },
  };
}

/** By suite: takes its cases and the options. */
export const preparations = {
  load: prepareLoad,
  stack: (cases, options) => prepareServers(cases, options, '..'),
  apps: (cases, options) => {
    const prepared = prepareServers(cases, options, '../apps');
    prepareApplications(cases, prepared.nodes[0].binary);
    return prepared;
  },
};
