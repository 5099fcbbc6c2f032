import type { StudyName } from '../../index.js';
import { mustBe } from '../../validation/shape.js';
import type { Flag } from './flag.js';

/** What a command line of `millrace lab` asks for. */
export interface LabInvocation {
  studies: StudyName[];
  quick: boolean;
  json: boolean;
  output?: string;
  html?: string;
  progress: boolean;
}

/** Nothing asked for yet. */
export function newLabInvocation(): LabInvocation {
  return { studies: [], quick: false, json: false, progress: true };
}

const LAB = 'Lab';

export const LAB_FLAGS: Flag<LabInvocation>[] = [
  {
    name: 'quick',
    short: 'q',
    group: LAB,
    common: true,
    help: 'less than a minute for each study',
    details: 'Shorter runs, and fewer of them: their figures swing more.',
    set(invocation) {
      invocation.quick = true;
    },
  },
  {
    name: 'json',
    group: LAB,
    common: true,
    help: 'print the result as JSON',
    set(invocation) {
      invocation.json = true;
    },
  },
  {
    name: 'output',
    short: 'o',
    value: 'FILE',
    group: LAB,
    common: true,
    help: 'write the result as JSON to a file',
    details: 'Beside the report. - is standard output: the same as --json.',
    set(invocation, value) {
      if (value === '-') invocation.json = true;
      else invocation.output = value;
    },
  },
  {
    name: 'html',
    value: 'FILE',
    group: LAB,
    common: true,
    help: 'write a page with plots to a file',
    set(invocation, value, given) {
      if (value === '-') throw mustBe(given, 'the name of a file', value);
      invocation.html = value;
    },
  },
  {
    name: 'no-progress',
    group: LAB,
    help: 'no progress on stderr',
    set(invocation) {
      invocation.progress = false;
    },
  },
];
