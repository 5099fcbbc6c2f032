import { shellQuote } from '../../process/command/shell-quote.js';
import type { FoundPeer } from '../peers/find-peer.js';
import type { PeerLoad } from '../peers/peers.js';
import type { CoreAssignment } from '../peers/pinning.js';

/** What the set-up depends on. */
export interface EnginesSetup {
  found: FoundPeer[];
  cores: CoreAssignment;
  nginx: string | null;
  connections: number;
  seconds: number;
}

/** The set-up in words, and each command line as somebody would type it. */
export function describeSetup(setup: EnginesSetup): string[] {
  const { found, cores, nginx, seconds, connections } = setup;
  const load = { url: 'URL', connections, seconds, close: false, folder: '.' };
  return [
    describePinning(cores),
    `each tool runs for ${seconds} s, with one thread where it can be told so; those with the least CPU per request run again, in turns, and have the mean of their runs`,
    'counted: by the server, 0.3 s after its first request until the last but one of the readings, which are 50 ms apart; CPU: of the tool and all that it starts, over the same time, from /proc. What a tool needs to start and to end is left out of both.',
    'millrace testserver --processes 1 --port 0',
    ...(nginx === null ? [] : ['nginx: one worker, return 200 "hello, world\\n"']),
    ...found.map((one) => formatPeerLine(one, load)),
    'ab speaks HTTP/1.0; all others 1.1',
    'without keep-alive: -H "Connection: close", or the flag of the tool for it',
  ];
}

function describePinning({ tool, server, several }: CoreAssignment): string {
  if (tool === null) return 'nothing is pinned: the system places tool and server';
  const more = several?.cores ? `, a server of ${several.processes} on ${several.cores}` : '';
  return `taskset: the tool on core ${tool}, the server on ${server}${more}`;
}

function formatPeerLine({ peer, version }: FoundPeer, load: PeerLoad): string {
  const words = peer.command([peer.program], load).map(shellQuote).join(' ');
  const files = Object.entries(peer.files?.(load) ?? {}).map(
    ([name, text]) => `  # ${name}: ${text.trim().replaceAll('\n', '; ')}`,
  );
  return `${words}${files.join('')}  # ${version ?? 'version not told'}`;
}
