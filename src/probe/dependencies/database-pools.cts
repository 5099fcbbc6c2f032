import type { DatabasePoolsScaled } from '../protocol.cjs';
import { every, ignoreErrors, timers } from '../runtime/clock.cjs';
import { findLiveObjects, findLoadedModules } from './live-objects.cjs';
import { type DatabasePool, POOL_DRIVERS } from './pool-drivers.cjs';

/** Maximum share of the free connections of a database that an experiment takes: others need some too. */
const MAX_ROOM_SHARE = 0.5;
/** How long a database may take to tell its limit. */
const ROOM_TIMEOUT_MS = 2000;
const POLL_MS = 5;
/** Maximum number of pools: more are one per request or tenant. */
const MAX_POOLS = 20;
/** How long surplus connections may be in use before they are left to the pool. */
const CLOSING_TIMEOUT_MS = 2000;

/** A pool whose limit was raised. */
interface RaisedPool {
  pool: DatabasePool;
  configured: number;
  raised: number;
}

/** The pools of database drivers, whose limits an experiment can raise for a while. Nothing is patched. */
export class DatabasePools {
  #known: WeakRef<object>[] | null = null;
  #raised: RaisedPool[] = [];
  #closing: NodeJS.Timeout | null = null;
  /** Counts the changes: a search that ends after a later one must not raise anything. */
  #turn = 0;

  /**
   * Multiplies the limit of each pool whose connections are all open, as far as its database has room; 1 restores them
   * and closes the surplus.
   *
   * @param processes number of processes that do so at the same time
   */
  async scale(factor: number, processes: number): Promise<DatabasePoolsScaled> {
    await this.#restoreAndClose();
    const scaled: DatabasePoolsScaled = { raised: [], refused: [] };
    if (factor === 1) return scaled;
    const turn = this.#turn;
    for (const pool of (await this.#findFullPools()).slice(0, MAX_POOLS)) {
      const configured = pool.max;
      const raised = Math.round(configured * factor);
      const why = await this.#findObstacle(pool, (raised - configured) * processes);
      if (turn !== this.#turn) break;
      if (why !== null) {
        scaled.refused.push(`the pool of ${pool.driver}: ${why}`);
        continue;
      }
      pool.max = raised;
      this.#raised.push({ pool, configured, raised });
      scaled.raised.push({ driver: pool.driver, from: configured, to: raised });
    }
    return scaled;
  }

  /** Restores all limits. Surplus connections are closed as they become idle. */
  restore(): void {
    void this.#restoreAndClose();
  }

  async #findFullPools(): Promise<DatabasePool[]> {
    const holders = await this.#findHolders();
    return holders.flatMap(({ holder, list }) => {
      try {
        return list(holder).filter(
          ({ max, open }) => Number.isFinite(max) && max >= 1 && open >= max,
        );
      } catch {
        // A version of the driver with other properties.
        return [];
      }
    });
  }

  /** Finds the objects that have pools, once: the search collects garbage. */
  async #findHolders(): Promise<{ holder: object; list: (holder: object) => DatabasePool[] }[]> {
    const classes = POOL_DRIVERS.flatMap(({ path, findClass, listPools }) =>
      findLoadedModules(path).flatMap((exports) => {
        const found = findClass(exports as never) as { prototype?: object } | undefined;
        return found?.prototype
          ? [{ prototype: found.prototype, list: listPools as (holder: object) => DatabasePool[] }]
          : [];
      }),
    );
    if (classes.length === 0) return [];
    const live = this.#known?.flatMap((known) => known.deref() ?? []) ?? [];
    const holders =
      live.length > 0 ? live : await findLiveObjects(classes.map(({ prototype }) => prototype));
    this.#known = holders.map((holder) => new WeakRef(holder));
    return holders.flatMap((holder) => {
      const own = classes.find(({ prototype }) =>
        Object.prototype.isPrototypeOf.call(prototype, holder),
      );
      return own ? [{ holder, list: own.list }] : [];
    });
  }

  /** Describes why the database does not permit so many further connections; `null` if it does. */
  async #findObstacle(pool: DatabasePool, wanted: number): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = timers.setTimeout(
        () => reject(new Error(`no answer within ${ROOM_TIMEOUT_MS / 1000} s`)),
        ROOM_TIMEOUT_MS,
      );
    });
    try {
      const room = await Promise.race([pool.readRoom(), late]);
      if (!Number.isFinite(room)) return 'the limit of its database is unknown';
      return wanted <= room * MAX_ROOM_SHARE
        ? null
        : `its database has room for ${room} further connections, and ${wanted} would take more than half of it`;
    } catch (error) {
      return `the limit of its database is unknown (${(error as Error).message})`;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Restores the limits, and waits until the surplus is closed. */
  #restoreAndClose(): Promise<void> {
    this.#turn++;
    clearInterval(this.#closing ?? undefined);
    this.#closing = null;
    const raised = this.#raised;
    this.#raised = [];
    for (const { pool, configured, raised: max } of raised) {
      // A limit that the application has set meanwhile stays.
      ignoreErrors(() => {
        if (pool.max === max) pool.max = configured;
      })();
    }
    return raised.length === 0 ? Promise.resolve() : this.#closeSurplus(raised);
  }

  #closeSurplus(raised: RaisedPool[]): Promise<void> {
    const untilMs = performance.now() + CLOSING_TIMEOUT_MS;
    return new Promise((resolve) => {
      const close = () => {
        let surplus = 0;
        for (const { pool, configured } of raised) {
          ignoreErrors(() => {
            const own = pool.open - Math.max(pool.max, configured);
            if (own <= 0) return;
            surplus += own;
            pool.closeIdle(own);
          })();
        }
        if (surplus > 0 && performance.now() < untilMs) return;
        clearInterval(timer);
        resolve();
      };
      const timer = every(POLL_MS, close);
      this.#closing = timer;
      close();
    });
  }
}
