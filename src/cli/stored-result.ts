import { usageError } from '../errors.js';
import { readResultFile, type UncheckedResult } from '../result-file.js';
import { isObject } from '../validation/shape.js';
import {
  CAPACITY_FORMATS,
  COMPARISON_FORMATS,
  EXPLANATION_FORMATS,
  type Formats,
  LAB_FORMATS,
  LOAD_FORMATS,
} from './formats.js';

/** A kind of stored result. */
interface ResultKind {
  /** The command that gives such results. */
  command: string;
  formats: Formats<never>;
  /** Fields that tell this kind from the others, and fields without which its report would be wrong. */
  fields: readonly string[];
}

const KINDS: readonly ResultKind[] = [
  {
    command: 'compare',
    formats: COMPARISON_FORMATS,
    fields: ['sides', 'runs', 'rows', 'verdict', 'durationMs', 'margin', 'width'],
  },
  {
    command: 'explain',
    formats: EXPLANATION_FORMATS,
    fields: ['load', 'verdict', 'experiments', 'noise'],
  },
  { command: 'capacity', formats: CAPACITY_FORMATS, fields: ['sweep', 'search', 'budgetMs'] },
  { command: 'lab', formats: LAB_FORMATS, fields: ['studies', 'machine', 'failed'] },
  {
    command: 'load',
    formats: LOAD_FORMATS,
    fields: ['plan', 'requests', 'latencyMs', 'histograms', 'generator', 'series', 'warnings'],
  },
];

/** A stored result, and how it is rendered. */
export interface StoredResult {
  file: string;
  command: string;
  /** Of the type of `formats`. */
  result: never;
  formats: Formats<never>;
}

/** Reads a stored result of any kind. */
export function readStoredResult(file: string): StoredResult {
  const value = readResultFile(file);
  const kind = KINDS.find(({ fields }) => fields.every((field) => field in value));
  if (!kind || !hasParts(value, kind)) {
    throw usageError(`'${file}' is not a complete result of millrace`);
  }
  return { file, command: kind.command, result: value as never, formats: kind.formats };
}

/** Whether the fields that hold parts do so; `null` is a part that a result may lack. */
function hasParts(value: UncheckedResult, { fields }: ResultKind): boolean {
  return fields.every((field) => {
    const part = value[field];
    return part === null || isObject(part) || Array.isArray(part) || typeof part === 'number';
  });
}

/** Renders stored results. What a damaged one makes fail is reported in a line, with its file. */
export async function renderStored<Rendered>(
  { file, command }: StoredResult,
  render: () => Promise<Rendered>,
): Promise<Rendered> {
  try {
    return await render();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw usageError(
      `'${file}' is not a complete result of millrace ${command}: a part of it is missing or damaged`,
    );
  }
}
