import { toPathKey } from '../flame-graph/paths.js';
import type { FlameFrame } from '../result.js';

/** Minimum part of a path's time at one line from which on that is named. */
const MIN_PART = 0.5;

/** Time of one path through the service's own code. */
interface PathTime {
  ms: number;
  /** Time of its innermost function itself, with V8's built-ins, by place. */
  lines: Map<string, number>;
}

/** The lines at which paths through the service's own code spend their time, as far as it is not in calls of JavaScript. */
export class HotLines {
  readonly #paths = new Map<string, PathTime>();

  /**
   * Adds the time of a call.
   *
   * @param frames all frames that lead to it, outermost first
   * @param lines the shares of the time by place, if the call itself is the service's own code
   */
  add(frames: readonly FlameFrame[], ms: number, lines: ReadonlyMap<string, number>): void {
    const path = frames.filter(isOwn);
    if (path.length === 0) return;
    const key = toPathKey(path);
    const known = this.#paths.get(key) ?? { ms: 0, lines: new Map<string, number>() };
    this.#paths.set(key, known);
    known.ms += ms;
    for (const [place, share] of lines) {
      known.lines.set(place, (known.lines.get(place) ?? 0) + ms * share);
    }
  }

  /** Finds the line at which most of a path's time passes: `server.js:13`; `null` if that is no single one. */
  find(path: readonly FlameFrame[]): string | null {
    const known = this.#paths.get(toPathKey(path));
    const [hottest] = [...(known?.lines ?? [])].sort(([, a], [, b]) => b - a);
    return known && hottest && hottest[1] >= MIN_PART * known.ms ? hottest[0] : null;
  }
}

function isOwn({ origin }: FlameFrame): boolean {
  return origin === 'application';
}
