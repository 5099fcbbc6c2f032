// The results of a benchmark: a folder of raw data, and sections of the suite's file.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nameMachine } from '../harness/machine.js';
import { exitWithUsageError } from '../harness/usage.js';
import { Figures } from './figures.js';
import { formatMeasuredLine } from './sections.js';
import { SuiteFile } from './suite-file.js';

/** Collects the results of a suite's cases, and writes them after each case. */
export class Results {
  #directory;
  #raw;
  #summary;
  #file;

  /**
   * `what` names the folder; `about` is `{ suite, machine, versions, runs, reading }`: how it was run, and how to read it.
   * `cases` are the sections of the suite's file in order; null if these results are not for that.
   */
  constructor(what, about, cases) {
    const date = new Date().toISOString().slice(0, 10);
    this.#directory = createDirectory(`${date}-${nameMachine(about.machine)}-${what}`);
    this.#raw = { ...about, date, command: formatCommand(), cases: {} };
    this.#summary = buildHeader(this.#raw);
    this.#file = cases && new SuiteFile({ ...about, cases });
    const fault = this.#file?.fault;
    if (fault) exitWithUsageError(fault);
  }

  /** Adds a case with its result and the lines of its summary to the raw data. */
  add(bench, result, lines) {
    this.#raw.cases[bench.name] = { case: bench, ...result };
    this.conclude(lines);
    writeFileSync(join(this.#directory, 'raw.json'), `${JSON.stringify(this.#raw, null, 1)}\n`);
  }

  /** Adds lines to the summary that do not belong to a single case. */
  conclude(lines) {
    this.#summary.push(...lines);
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(join(this.#directory, 'summary.md'), this.#summary.join('\n'));
  }

  /**
   * Puts a section into the suite's file. `runs` describes the number of runs, `used` names the tools whose versions are
   * listed; `figures` are those of the section for the tables, one for each Node.js.
   */
  publish({ name, lines, runs = this.#raw.runs, used = [], figures = [] }) {
    const versions = Object.entries(this.#raw.versions).filter(([tool]) => used.includes(tool));
    const list = versions.map(([tool, version]) => `${tool}: ${version}`).join('; ');
    const tail = [...(list ? ['', `Versions: ${list}.`] : []), ''];
    const measured = formatMeasuredLine({ ...this.#raw, runs });
    const fault = this.#file?.replace({ name, lines: [...lines, ...tail, measured] });
    if (fault) console.error(`bench: ${fault}; left as it is, see ${this.#folder}`);
    else if (this.#file && figures.length > 0) new Figures().put(name, figures, this.#raw);
  }

  /** The paths of all written files, relative to the working directory. */
  get paths() {
    return [this.#file?.path, this.#folder].filter(Boolean).join(', ');
  }

  get #folder() {
    return relative(process.cwd(), this.#directory);
  }
}

function createDirectory(name) {
  const base = fileURLToPath(new URL(`../results/raw/${name}`, import.meta.url));
  let directory = base;
  for (let number = 2; existsSync(directory); number++) directory = `${base}-${number}`;
  return directory;
}

/** Formats the command line, without folders of this machine. */
function formatCommand() {
  const words = process.argv.slice(2).map((word) => (isAbsolute(word) ? basename(word) : word));
  return ['npm run bench --', ...words].join(' ');
}

function buildHeader({ suite, machine, versions, runs, reading, command: typed }) {
  const { cpu, cores, memoryGiB, kernel, governor, node, loadAverage, commit } = machine;
  const tools = Object.entries(versions).map(([name, version]) => `- ${name}: ${version}`);
  return [
    `# Benchmark: ${suite}`,
    '',
    `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${kernel}, governor ${governor}, Node ${node},`,
    `load average before ${loadAverage.toFixed(2)}, commit ${commit}. ${runs}: \`${typed}\`.`,
    '',
    ...tools,
    '',
    reading,
    '',
  ];
}
