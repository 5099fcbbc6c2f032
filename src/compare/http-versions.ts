import { speaksHttp2 } from '../load/http-version.js';
import type { LoadWarning, PlanSummary } from '../load/result.js';
import type { ComparisonResult, ComparisonSideName } from './result.js';
import type { SideResult } from './warnings.js';

type Version = PlanSummary['httpVersion'];

/** The versions of HTTP that the connections of each side spoke. */
export type SpokenVersions = Record<ComparisonSideName, Version>;

/** Reads from the runs which versions of HTTP were spoken. */
export function readVersions(runs: readonly SideResult[]): SpokenVersions {
  const ofSide = (name: ComparisonSideName) =>
    readVersion(runs.filter(({ side }) => side === name));
  return { a: ofSide('a'), b: ofSide('b') };
}

function readVersion(runs: readonly SideResult[]): Version {
  // Results of versions without HTTP/2 have no such counts.
  const speaks = (version: 'http1' | 'http2') =>
    runs.some(({ result }) => (result.connections[version] ?? 0) > 0);
  if (!speaks('http2')) return '1.1';
  return speaks('http1') ? '2 or 1.1' : '2';
}

/** The plan of both sides with the version that both spoke, where they could have spoken either. */
export function planWithVersion(plan: PlanSummary, { a, b }: SpokenVersions): PlanSummary {
  return plan.httpVersion === '2 or 1.1' && a === b ? { ...plan, httpVersion: a } : plan;
}

/** The sides with the version of each in its label, where these differ. */
export function labelVersions(
  sides: ComparisonResult['sides'],
  { a, b }: SpokenVersions,
): ComparisonResult['sides'] {
  if (a === b) return sides;
  return {
    a: { ...sides.a, label: `${sides.a.label}, HTTP/${a}` },
    b: { ...sides.b, label: `${sides.b.label}, HTTP/${b}` },
  };
}

/**
 * Warns of sides that spoke different versions of HTTP, as a server may choose, and of a load that could speak HTTP/2 and met no
 * server with it. `isOfStacks`: whether Millrace's stack is compared with Node's own.
 */
export function listVersions(
  plan: PlanSummary,
  { a, b }: SpokenVersions,
  isOfStacks: boolean,
): LoadWarning[] {
  if (a !== b) {
    const message = `The connections of A spoke HTTP/${a}, those of B HTTP/${b}: a part of the difference may be that of the protocols.`;
    return [{ id: 'http-versions', message }];
  }
  if (!speaksHttp2(plan) || a !== '1.1') return [];
  const remedy = isOfStacks ? "set MILLRACE_HTTP2=on for HTTP/2 on Millrace's stack" : '';
  const message = `Both sides spoke HTTP/1.1, though the load could have spoken HTTP/2${remedy && `: ${remedy}`}.`;
  return [{ id: 'http-versions', message }];
}
