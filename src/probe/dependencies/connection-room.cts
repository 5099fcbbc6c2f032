/** Runs a query on a connection of a pool, and returns its rows. */
export type Query = (text: string) => Promise<Record<string, unknown>[]>;

/** Reads how many further connections PostgreSQL accepts from this user to this database. */
export async function readPostgresRoom(query: Query): Promise<number> {
  const [row = {}] = await query(
    `SELECT current_setting('max_connections')::int AS most,
      current_setting('superuser_reserved_connections')::int AS reserved,
      (SELECT count(*) FROM pg_stat_activity)::int AS used,
      (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_user,
      (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database`,
  );
  const limits = [row.of_user, row.of_database].map(Number).filter((limit) => limit >= 0);
  return Math.min(Number(row.most) - Number(row.reserved), ...limits) - Number(row.used);
}

/** Reads how many further connections MySQL or MariaDB accepts from this user. */
export async function readMysqlRoom(query: Query): Promise<number> {
  const [limits = {}] = await query(
    'SELECT @@max_connections AS most, @@max_user_connections AS of_user',
  );
  const [connected = {}] = await query("SHOW GLOBAL STATUS LIKE 'Threads_connected'");
  const ofUser = Number(limits.of_user);
  const most = Math.min(Number(limits.most), ofUser > 0 ? ofUser : Number.POSITIVE_INFINITY);
  return most - Number(connected.Value);
}

interface PostgresClient {
  query(text: string): Promise<{ rows: Record<string, unknown>[] }>;
}

interface MysqlConnection {
  query(text: string, callback: (error: unknown, rows: Record<string, unknown>[]) => void): void;
}

export function queryPostgres(client: PostgresClient): Query {
  return async (text) => (await client.query(text)).rows;
}

export function queryMysql(connection: MysqlConnection): Query {
  return (text) =>
    new Promise((resolve, reject) => {
      connection.query(text, (error, rows) => (error ? reject(error) : resolve(rows)));
    });
}

/** Reads the room at the database of a connection of unknown kind. */
export function readRoomOf(connection: object): Promise<number> {
  if ('processID' in connection && 'connectionParameters' in connection)
    return readPostgresRoom(queryPostgres(connection as unknown as PostgresClient));
  if ('threadId' in connection && 'query' in connection)
    return readMysqlRoom(queryMysql(connection as unknown as MysqlConnection));
  throw new Error('its connections are not those of pg or mysql2');
}
