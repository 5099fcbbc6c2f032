import { Histogram } from '../../statistics/histogram.cjs';
import type { RouteCounters, RouteSample } from '../protocol.cjs';

/** Routes that are told apart; the others are one. */
const MOST_ROUTES = 50;
/** Paths whose route is remembered, of each method. */
const MOST_PATHS = 500;
const MOST_NAME = 120;
const OTHER = 'other';

/** What was seen of the requests for one route. */
export class Route {
  readonly name: string;
  readonly counters: RouteCounters = { ended: 0, handlerMs: 0, syncMs: 0 };
  readonly handlerTimes = new Histogram();
  longestSyncMs = 0;
  changed = false;

  constructor(name: string) {
    this.name = name;
  }

  ended(ms: number): void {
    this.counters.ended++;
    this.counters.handlerMs += ms;
    this.handlerTimes.add(ms);
    this.changed = true;
  }

  held(ms: number): void {
    this.counters.syncMs += ms;
    if (ms > this.longestSyncMs) this.longestSyncMs = ms;
    this.changed = true;
  }
}

/** The routes of a process, by method and path. */
export class Routes {
  readonly #routes = new Map<string, Route>();
  readonly #byPath = new Map<string, Map<string, Route>>();

  of(method: string, url: string): Route {
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    let paths = this.#byPath.get(method);
    if (!paths) {
      paths = new Map();
      this.#byPath.set(method, paths);
    }
    let route = paths.get(path);
    if (!route) {
      route = this.#named(`${method} ${routeOf(path)}`);
      if (paths.size >= MOST_PATHS) paths.clear();
      paths.set(path, route);
    }
    return route;
  }

  #named(name: string): Route {
    const known = this.#routes.get(name);
    if (known) return known;
    if (this.#routes.size >= MOST_ROUTES && name !== OTHER) return this.#named(OTHER);
    const route = new Route(name);
    this.#routes.set(name, route);
    return route;
  }

  /** Those that changed since they were last read. */
  read(): Record<string, RouteSample> {
    const changed: Record<string, RouteSample> = {};
    for (const route of this.#routes.values()) {
      if (!route.changed) continue;
      const { name, counters, handlerTimes, longestSyncMs } = route;
      changed[name] = { counters, handlerTimes: handlerTimes.read(), longestSyncMs };
      route.changed = false;
      route.longestSyncMs = 0;
    }
    return changed;
  }
}

/** The path with `:id` in place of what tells one thing from another of its kind. */
export function routeOf(path: string): string {
  const segments = path.split('/').map((segment) => (isId(segment) ? ':id' : segment));
  const name = segments.join('/');
  return name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name;
}

function isId(segment: string): boolean {
  return NUMBER.test(segment) || UUID.test(segment) || (HEX.test(segment) && /\d/.test(segment));
}

const NUMBER = /^\d+$/;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const HEX = /^[\da-f]{8,}$/i;
