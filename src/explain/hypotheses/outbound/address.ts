/** Parses the port of an address: `5432` of `tcp://db:5432`. */
export function parsePort(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}
