import type { LimitId } from '../explain/limits/ids.js';
import type { Remedy, Status } from '../explain/result.js';

/** The studies, in the order in which their questions build on each other. */
export const STUDY_NAMES = [
  'connections',
  'pipelining',
  'engines',
  'timeouts',
  'stacks',
  'pipe-vs-buffer',
] as const;

/** The name of a study on the command line. */
export type StudyName = (typeof STUDY_NAMES)[number];

/** What a number is, and so how it is printed. Times in milliseconds, rates per second, bytes, cores, shares of 1. */
export type LabUnit = 'rate' | 'time' | 'bytes' | 'cores' | 'share' | 'count' | 'decimal' | 'ratio';

/** One figure after the other, those of then beside those of now. */
export interface LabTable {
  title: string;
  /** The name of the first column, which says what a row is. */
  rowsAre: string;
  columns: LabColumn[];
  rows: LabRow[];
}

export interface LabColumn {
  name: string;
  unit: LabUnit;
  /** Whether the study reported it, or it was measured by this run. */
  from: 'then' | 'now';
}

export interface LabRow {
  name: string;
  /** One for each column; `null`: not reported, or not measured. */
  cells: (number | null)[];
}

/** An axis of a figure. */
export interface LabAxis {
  name: string;
  unit: LabUnit;
  scale: 'linear' | 'log';
}

/** Lines or points over a quantity. */
export interface LabPlot {
  kind: 'lines';
  title: string;
  caption: string;
  x: LabAxis;
  y: LabAxis;
  series: LabSeries[];
  /** Places on the x axis with a name. */
  marks: { x: number; label: string }[];
}

export interface LabSeries {
  name: string;
  /** `dots`: measured one by one; `line`: followed over time; `bound`: what the arithmetic says. */
  style: 'dots' | 'line' | 'bound';
  points: [x: number, y: number][];
}

/** One bar for each of several variants, in groups. */
export interface LabBars {
  kind: 'bars';
  title: string;
  caption: string;
  unit: LabUnit;
  groups: { name: string; bars: { name: string; value: number | null }[] }[];
}

export type LabFigure = LabPlot | LabBars;

/** What the study comes to, to be checked by anybody. */
export interface Claim {
  /** In words, with the numbers. */
  text: string;
  /** Whether this run bears it out; `null`: it could not be seen. */
  held: boolean | null;
}

/** Why it is so, as `explain` finds it. */
export interface LabCause {
  limit: LimitId | null;
  status: Status;
  sentence: string;
  arithmetic: string[];
  /** What to change, and the responses per second that it predicts. */
  remedy: Remedy | null;
  /** What was explained: a command line that anybody can repeat. */
  command: string;
}

/** One study, repeated. */
export interface StudyResult {
  name: StudyName;
  title: string;
  /** When it was made, and with what. */
  original: string;
  question: string;
  startedAt: string;
  durationMs: number;
  tables: LabTable[];
  figures: LabFigure[];
  causes: LabCause[];
  /** What Millrace changes about it, or adds to it. */
  changes: string[];
  claims: Claim[];
  /** The exact set-up: what was started, and how it was loaded. */
  setup: string[];
  /** What could not be measured here, and why; loads whose figures are the generator's own among it. */
  missing: string[];
}

/** What the figures depend on. */
export interface LabMachine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
}

/** The result of `lab()`; JSON of schemaVersion 1. */
export interface LabResult {
  schemaVersion: 1;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  durationMs: number;
  quick: boolean;
  /** Ended early by the caller: studies that were not complete are left out. */
  interrupted: boolean;
  machine: LabMachine;
  studies: StudyResult[];
  /** Studies that could not be repeated, beside others that were. */
  failed: { study: StudyName; reason: string }[];
}

/** What is being done. */
export interface LabProgress {
  study: StudyName;
  step: string;
  elapsedMs: number;
  /** How long the study, or all of them, takes by its own account. */
  budgetMs: number;
}
