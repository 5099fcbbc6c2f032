import {
  type Query,
  queryMysql,
  queryPostgres,
  readMysqlRoom,
  readPostgresRoom,
  readRoomOf,
} from './connection-room.cjs';

/** A live pool of connections to a database. */
export interface DatabasePool {
  /** Identifies it. */
  holder: object;
  driver: string;
  max: number;
  /** Open connections. */
  readonly open: number;
  /** Reads how many further connections the database accepts. */
  readRoom(): Promise<number>;
  /** Closes up to that many idle connections. */
  closeIdle(count: number): void;
}

/** A library with pools: where its class is, and how to use its objects. */
export interface PoolDriver {
  /** The file of the class, by the end of its path. */
  path: RegExp;
  findClass(exports: never): unknown;
  /** Returns the pools of an object of the class that are in use. */
  listPools(holder: never): DatabasePool[];
}

export const POOL_DRIVERS: PoolDriver[] = [
  {
    path: /[\\/]pg-pool[\\/]index\.js$/,
    findClass: (exports: unknown) => exports,
    listPools: listPostgresPools,
  },
  {
    path: /[\\/]mysql2[\\/]lib[\\/](?:base[\\/])?pool\.js$/,
    findClass: (exports: unknown) => exports,
    listPools: listMysqlPools,
  },
  {
    path: /[\\/]tarn[\\/]dist[\\/]Pool\.js$/,
    findClass: ({ Pool }: { Pool: unknown }) => Pool,
    listPools: listTarnPools,
  },
  {
    path: /[\\/](?:generic-pool[\\/]lib|sequelize-pool[\\/]lib)[\\/]Pool\.js$/,
    findClass: (exports: { Pool?: unknown }) => exports.Pool ?? exports,
    listPools: listGenericPools,
  },
  {
    path: /[\\/]mongodb[\\/]lib[\\/]mongo_client\.js$/,
    findClass: ({ MongoClient }: { MongoClient: unknown }) => MongoClient,
    listPools: listMongoPools,
  },
];

interface PostgresPool {
  options: { max: number };
  ending: boolean;
  totalCount: number;
  idleCount: number;
  query(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  connect(
    callback: (error: unknown, client: unknown, release?: (destroy: boolean) => void) => void,
  ): void;
}

function listPostgresPools(pool: PostgresPool): DatabasePool[] {
  if (pool.ending) return [];
  return [
    {
      holder: pool,
      driver: 'pg',
      get max() {
        return pool.options.max;
      },
      set max(max) {
        pool.options.max = max;
      },
      get open() {
        return pool.totalCount;
      },
      readRoom: () => readPostgresRoom(queryPostgres(pool)),
      closeIdle(count) {
        for (let left = Math.min(count, pool.idleCount); left > 0; left--)
          pool.connect((_, __, release) => release?.(true));
      },
    },
  ];
}

interface MysqlPool {
  config: { connectionLimit: number };
  _closed: boolean;
  _allConnections: { length: number };
  _freeConnections: { length: number; get(index: number): { destroy(): void } };
  query(text: string, callback: (error: unknown, rows: Record<string, unknown>[]) => void): void;
}

function listMysqlPools(pool: MysqlPool): DatabasePool[] {
  if (pool._closed) return [];
  const query: Query = queryMysql(pool);
  return [
    {
      holder: pool,
      driver: 'mysql2',
      get max() {
        return pool.config.connectionLimit;
      },
      set max(max) {
        pool.config.connectionLimit = max;
      },
      get open() {
        return pool._allConnections.length;
      },
      readRoom: () => readMysqlRoom(query),
      closeIdle(count) {
        for (let left = Math.min(count, pool._freeConnections.length); left > 0; left--)
          pool._freeConnections.get(0).destroy();
      },
    },
  ];
}

interface TarnPool {
  min: number;
  max: number;
  idleTimeoutMillis: number;
  destroyed: boolean;
  numUsed(): number;
  numFree(): number;
  numPendingCreates(): number;
  acquire(): { promise: Promise<object> };
  release(connection: object): void;
  check(): void;
}

function listTarnPools(pool: TarnPool): DatabasePool[] {
  if (pool.destroyed) return [];
  return [
    {
      holder: pool,
      driver: 'knex (tarn)',
      get max() {
        return pool.max;
      },
      set max(max) {
        pool.max = max;
      },
      get open() {
        return pool.numUsed() + pool.numFree() + pool.numPendingCreates();
      },
      async readRoom() {
        const connection = await pool.acquire().promise;
        try {
          return await readRoomOf(connection);
        } finally {
          pool.release(connection);
        }
      },
      // Its own check closes what is idle for long enough, and keeps a minimum.
      closeIdle(count) {
        const { min, idleTimeoutMillis } = pool;
        pool.min = Math.max(min, pool.numUsed() + pool.numFree() - count);
        pool.idleTimeoutMillis = 0;
        try {
          pool.check();
        } finally {
          Object.assign(pool, { min, idleTimeoutMillis });
        }
      },
    },
  ];
}

/** A pool of generic-pool, or of its successor in sequelize. */
interface GenericPool {
  _config?: { max: number };
  options?: { max: number };
  /** Of sequelize-pool; a getter without a setter. */
  maxSize?: number;
  _factory?: { max: number };
  size: number;
  available: number;
  _draining?: boolean;
  acquire(): Promise<object>;
  release(connection: object): unknown;
  destroy(connection: object): unknown;
}

function listGenericPools(pool: GenericPool): DatabasePool[] {
  const settings = pool._config ?? pool._factory;
  if (pool._draining || !settings || !Number.isFinite(settings.max)) return [];
  return [
    {
      holder: pool,
      driver: pool._config ? 'generic-pool' : 'sequelize-pool',
      get max() {
        return settings.max;
      },
      set max(max) {
        settings.max = max;
      },
      get open() {
        return pool.size;
      },
      async readRoom() {
        const connection = await pool.acquire();
        try {
          return await readRoomOf(connection);
        } finally {
          await pool.release(connection);
        }
      },
      closeIdle(count) {
        for (let left = Math.min(count, pool.available); left > 0; left--)
          pool
            .acquire()
            .then((connection) => pool.destroy(connection))
            // A connection that cannot be closed is the pool's own matter.
            .catch(() => {});
      },
    },
  ];
}

interface MongoOptions {
  maxPoolSize: number;
  maxIdleTimeMS: number;
}

interface MongoPool {
  options: MongoOptions;
  closed: boolean;
  totalConnectionCount: number;
  ensureMinPoolSize?(): void;
}

interface MongoClient {
  topology?: { s?: { servers?: Map<string, { pool?: MongoPool }> } };
  db(name: string): {
    command(command: object): Promise<{ connections?: { available?: number } }>;
  };
}

function listMongoPools(client: MongoClient): DatabasePool[] {
  const pools = [...(client.topology?.s?.servers?.values() ?? [])].flatMap(({ pool }) =>
    pool && !pool.closed ? [pool] : [],
  );
  return pools.map((pool) => ({
    holder: pool,
    driver: 'mongodb',
    get max() {
      return pool.options.maxPoolSize;
    },
    // Its options are frozen.
    set max(maxPoolSize) {
      pool.options = { ...pool.options, maxPoolSize };
    },
    get open() {
      return pool.totalConnectionCount;
    },
    async readRoom() {
      const { connections } = await client.db('admin').command({ serverStatus: 1 });
      return Number(connections?.available);
    },
    // It closes idle connections itself when it next looks at them, some times a second.
    closeIdle() {
      const { options } = pool;
      pool.options = { ...options, maxIdleTimeMS: 1 };
      pool.ensureMinPoolSize?.();
      pool.options = options;
    },
  }));
}
