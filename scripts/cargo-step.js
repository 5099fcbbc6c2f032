// A step whose command runs cargo. It shows how far cargo is, which cargo says on request, also to a pipe:
// `Building [=====>     ] 45/133: libc, rustls(build)`.
import { report, run } from './step.js';

const ENV = { CARGO_TERM_PROGRESS_WHEN: 'always', CARGO_TERM_PROGRESS_WIDTH: '120' };
const PROGRESS = /Building \[[^\]]*\] (\d+)\/(\d+)(?:: ([^\r\n]*))?/g;

/** Runs a command as `step()` does, with cargo's progress beside its time. */
export async function cargoStep(name, command, args) {
  return report(name, async (line) => {
    const show = (output) => {
      line.detail = readCargoProgress(output) ?? line.detail;
    };
    const { code, output } = await run(command, args, { env: ENV, onOutput: show });
    if (code !== 0) {
      throw new Error(removeCargoProgress(output).trimEnd() || `${command} ended with ${code}`);
    }
  });
}

/** Returns the last progress in an output, as `45 of 133 crates: libc, rustls(build)`; `undefined` if there is none. */
export function readCargoProgress(output) {
  const last = [...output.matchAll(PROGRESS)].at(-1);
  if (last === undefined) return undefined;
  const [, done, all, crates = ''] = last;
  return `${done} of ${all} crates${crates && `: ${crates.trimEnd()}`}`;
}

/** Removes progress from an output: lines that the next one overwrites, and those of crates that are compiled. */
export function removeCargoProgress(output) {
  return output
    .replace(/[^\r\n]*Building \[[^\r\n]*[\r\n]*/g, '')
    .replace(/^ +Compiling .*\n/gm, '');
}
