/** Address at which a client on this machine reaches a server. */
export interface Endpoint {
  host: string;
  port: number;
}
