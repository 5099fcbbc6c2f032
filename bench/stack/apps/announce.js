/**
 * Tells the benchmark the port of a server in a line of JSON, and ends the process when the benchmark is
 * through, so that whatever waits for the exit gets its turn.
 */
export function announce(server) {
  const tell = () => console.log(JSON.stringify({ port: server.address().port }));
  if (server.listening) tell();
  else server.once('listening', tell);
  process.on('SIGTERM', () => process.exit());
}
