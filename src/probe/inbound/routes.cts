import { METHODS } from 'node:http';
import { toRouteName } from '../../format/route-name.cjs';
import { Histogram } from '../../statistics/histogram.cjs';
import type { RouteCounters, RouteSample } from '../protocol.cjs';

/** Maximum number of distinct routes; all others are counted as one. */
const MAX_ROUTES = 50;
/** Maximum number of paths per method whose route is cached. */
const MAX_PATHS = 500;
const OTHER = 'other';
const KNOWN_METHODS = new Set(METHODS);

/** Measurements of the requests for one route. */
export class Route {
  readonly name: string;
  readonly counters: RouteCounters = { ended: 0, handlerMs: 0, syncMs: 0 };
  readonly handlerTimes = new Histogram();
  longestSyncMs = 0;
  isChanged = false;

  constructor(name: string) {
    this.name = name;
  }

  addResponse(ms: number): void {
    this.counters.ended++;
    this.counters.handlerMs += ms;
    this.handlerTimes.add(ms);
    this.isChanged = true;
  }

  addSynchronousPart(ms: number): void {
    this.counters.syncMs += ms;
    if (ms > this.longestSyncMs) this.longestSyncMs = ms;
    this.isChanged = true;
  }
}

/** The routes of a process, by method and path. */
export class Routes {
  readonly #routes = new Map<string, Route>();
  readonly #byPath = new Map<string, Map<string, Route>>();

  find(requested: string, url: string): Route {
    // With HTTP/2 a client may send any word.
    const method = KNOWN_METHODS.has(requested) ? requested : 'OTHER';
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    let paths = this.#byPath.get(method);
    if (!paths) {
      paths = new Map();
      this.#byPath.set(method, paths);
    }
    let route = paths.get(path);
    if (!route) {
      route = this.#findOrAdd(`${method} ${toRouteName(path)}`);
      if (paths.size >= MAX_PATHS) paths.clear();
      paths.set(path, route);
    }
    return route;
  }

  #findOrAdd(name: string): Route {
    const known = this.#routes.get(name);
    if (known) return known;
    if (this.#routes.size >= MAX_ROUTES && name !== OTHER) return this.#findOrAdd(OTHER);
    const route = new Route(name);
    this.#routes.set(name, route);
    return route;
  }

  /** Returns the routes that changed since the last call. */
  read(): Record<string, RouteSample> {
    const changed: Record<string, RouteSample> = {};
    for (const route of this.#routes.values()) {
      if (!route.isChanged) continue;
      const { name, counters, handlerTimes, longestSyncMs } = route;
      changed[name] = { counters, handlerTimes: handlerTimes.read(), longestSyncMs };
      route.isChanged = false;
      route.longestSyncMs = 0;
    }
    return changed;
  }
}
