import { shellQuote } from '../../process/command/shell-quote.js';
import type { FoundPeer } from '../peers/find-peer.js';
import type { PeerLoad } from '../peers/peers.js';
import type { CoreAssignment } from '../peers/pinning.js';

/** The parameters of the set-up. */
export interface EnginesSetup {
  found: FoundPeer[];
  cores: CoreAssignment;
  nginx: string | null;
  connections: number;
  seconds: number;
}

/** Describes the set-up, with each command line as a user would type it. */
export function describeSetup(setup: EnginesSetup): string[] {
  const { found, cores, nginx, seconds, connections } = setup;
  const load = { url: 'URL', connections, seconds, close: false, folder: '.' };
  return [
    describePinning(cores),
    `each tool runs for ${seconds} s, with one thread if it has such an option; those with the least CPU per request run repeatedly, interleaved, and their runs are averaged`,
    'counted: by the server, from 0.3 s after its first request to the last reading but one, with readings every 50 ms; CPU: of the tool and its child processes, over the same time, from /proc. The start and the end of a tool are excluded from both.',
    'millrace testserver --processes 1 --port 0',
    ...(nginx === null ? [] : ['nginx: one worker, return 200 "hello, world\\n"']),
    ...found.map((one) => formatPeerLine(one, load)),
    'ab speaks HTTP/1.0; all others 1.1',
    'without keep-alive: -H "Connection: close", or the corresponding flag of the tool',
  ];
}

function describePinning({ tool, server, several }: CoreAssignment): string {
  if (tool === null) return 'nothing is pinned: the system schedules tool and server';
  const more = several?.cores ? `, a server of ${several.processes} on ${several.cores}` : '';
  return `taskset: the tool on core ${tool}, the server on ${server}${more}`;
}

function formatPeerLine({ peer, version }: FoundPeer, load: PeerLoad): string {
  const words = peer.command([peer.program], load).map(shellQuote).join(' ');
  const files = Object.entries(peer.files?.(load) ?? {}).map(
    ([name, text]) => `  # ${name}: ${text.trim().replaceAll('\n', '; ')}`,
  );
  return `${words}${files.join('')}  # ${version ?? 'version unknown'}`;
}
