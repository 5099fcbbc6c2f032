import type { LimitId } from '../explain/limit-ids.js';
import type { ExplainStatus, Remedy } from '../explain/result.js';

/** The names of the studies, in the order in which their questions build on each other. */
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

/** A study as the list of studies shows it. */
export interface StudySummary {
  name: StudyName;
  title: string;
  question: string;
  /** Year, versions and machine of the original study. */
  original: string;
  /** Approximate duration in seconds. */
  seconds: { quick: number; full: number };
}

/** The unit of a number, which determines its format: times in milliseconds, rates per second, shares of 1. */
export type LabUnit = 'rate' | 'time' | 'bytes' | 'cores' | 'share' | 'count' | 'decimal' | 'ratio';

/** A table with the original figures of a study next to those of this run. */
export interface LabTable {
  title: string;
  /** Heading of the first column, which names the rows. */
  rowsAre: string;
  columns: LabColumn[];
  rows: LabRow[];
}

export interface LabColumn {
  name: string;
  unit: LabUnit;
  /** `then`: reported by the original study; `now`: measured by this run. */
  from: 'then' | 'now';
}

export interface LabRow {
  name: string;
  /** A value for each column; `null`: not reported, or not measured. */
  cells: (number | null)[];
}

/** An axis of a figure. */
export interface LabAxis {
  name: string;
  unit: LabUnit;
  scale: 'linear' | 'log';
}

/** A plot of lines or points. */
export interface LabPlot {
  kind: 'lines';
  title: string;
  caption: string;
  x: LabAxis;
  y: LabAxis;
  series: LabSeries[];
  /** Labelled positions on the x axis. */
  marks: { x: number; label: string }[];
}

export interface LabSeries {
  name: string;
  /** `dots`: single measurements; `line`: a value over time; `bound`: a calculated bound. */
  style: 'dots' | 'line' | 'bound';
  points: [x: number, y: number][];
}

/** A bar chart with a bar for each variant, in groups. */
export interface LabBars {
  kind: 'bars';
  title: string;
  caption: string;
  unit: LabUnit;
  groups: { name: string; bars: { name: string; value: number | null }[] }[];
}

export type LabFigure = LabPlot | LabBars;

/** A claim of the study, checked against the figures of this run. */
export interface LabClaim {
  /** The claim in words, with its numbers. */
  text: string;
  /** Whether the claim holds in this run; `null` if this run cannot decide it. */
  held: boolean | null;
}

/** The cause, as found by `explain`. */
export interface LabCause {
  limit: LimitId | null;
  status: ExplainStatus;
  sentence: string;
  arithmetic: string[];
  /** The remedy, with the predicted responses per second. */
  remedy: Remedy | null;
  /** Command line that repeats the explanation. */
  command: string;
}

/** The result of one study. */
export interface StudyResult {
  name: StudyName;
  title: string;
  /** Year, versions and machine of the original study. */
  original: string;
  question: string;
  startedAt: string;
  durationMs: number;
  tables: LabTable[];
  figures: LabFigure[];
  causes: LabCause[];
  /** What Millrace changes about the result of the study, or adds to it. */
  changes: string[];
  claims: LabClaim[];
  /** The exact set-up: command lines of the services and loads. */
  setup: string[];
  /** What was not measured, and why; includes loads in which the generator was the limit. */
  missing: string[];
}

/** The machine that the figures were measured on. */
export interface LabMachine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
}

/** The result of `lab()`; JSON of schemaVersion 2. */
export interface LabResult {
  schemaVersion: 2;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  durationMs: number;
  quick: boolean;
  /** Whether the caller ended the run early; incomplete studies are left out. */
  interrupted: boolean;
  machine: LabMachine;
  studies: StudyResult[];
  /** Studies that failed while others succeeded. */
  failed: { study: StudyName; reason: string }[];
}

/** The progress of a run. */
export interface LabProgress {
  study: StudyName;
  step: string;
  elapsedMs: number;
  /** Estimated duration of all requested studies. */
  budgetMs: number;
}
