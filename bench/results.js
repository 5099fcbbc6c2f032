// The folder that a benchmark leaves behind.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machineName } from './machine.js';

/** Collects the results of a suite's cases, and writes all that it has after each. */
export class Results {
  #directory;
  #raw;
  #summary;

  /** `what` names the folder; `about` is `{ suite, machine, versions, runs, reading }`: how it was run, and how to read it. */
  constructor(what, about) {
    this.#directory = newDirectory(what, about.machine);
    this.#raw = { ...about, cases: {} };
    this.#summary = header(about);
  }

  /** Adds a case with its result and the lines of its summary. */
  add(bench, result, lines) {
    this.#raw.cases[bench.name] = { case: bench, ...result };
    this.conclude(lines);
    writeFileSync(join(this.#directory, 'raw.json'), `${JSON.stringify(this.#raw, null, 1)}\n`);
  }

  /** Adds lines to the summary that are of no single case. */
  conclude(lines) {
    this.#summary.push(...lines);
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(join(this.#directory, 'summary.md'), this.#summary.join('\n'));
  }

  /** The folder, from where the harness runs. */
  get path() {
    return relative(process.cwd(), this.#directory);
  }
}

function newDirectory(what, host) {
  const name = `${new Date().toISOString().slice(0, 10)}-${machineName(host)}-${what}`;
  const base = fileURLToPath(new URL(`results/${name}`, import.meta.url));
  let directory = base;
  for (let number = 2; existsSync(directory); number++) directory = `${base}-${number}`;
  return directory;
}

function header({ suite, machine, versions, runs, reading }) {
  const { cpu, cores, memoryGiB, kernel, governor, node, loadAverage, commit } = machine;
  const tools = Object.entries(versions).map(([name, version]) => `- ${name}: ${version}`);
  return [
    `# Benchmark: ${suite}`,
    '',
    `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${kernel}, governor ${governor}, Node ${node},`,
    `load average before ${loadAverage.toFixed(2)}, commit ${commit}. ${runs}.`,
    '',
    ...tools,
    '',
    reading,
    '',
  ];
}
