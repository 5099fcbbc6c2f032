// Brings this package to a host that has Node alone.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { locateAddon, platformName } from '../../native/addon.js';
import { shellQuote } from '../../process/command/shell-quote.js';

/** The first version of Node that the package runs on. */
const FIRST_NODE = 20;

/**
 * What a host's Node runs: it reads the package from standard input, exactly as many bytes as that has, writes its files into
 * the folder of its argument, and becomes the agent. What it cannot do it says in a line.
 */
const RECEIVE = `
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});
const fs = require("fs"), path = require("path");
const [folder] = process.argv.slice(-1);
if (parseInt(process.versions.node) < ${FIRST_NODE}) {
  console.error("Node.js " + process.versions.node + " is there, and ${FIRST_NODE}.19 or later is needed");
  process.exit(1);
}
function read(size) {
  const bytes = Buffer.alloc(size);
  for (let done = 0; done < size; ) {
    try {
      const count = fs.readSync(0, bytes, done, size - done, null);
      if (count === 0) process.exit(1);
      done += count;
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return bytes;
}
const all = require("zlib").gunzipSync(read(read(4).readUInt32BE()));
const start = 4 + all.readUInt32BE();
let at = start;
for (const [name, size] of JSON.parse(all.toString("utf8", 4, start))) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, all.subarray(at, at + size));
  at += size;
}
const bin = path.join(folder, "bin", "millrace.js");
process.argv = [process.argv[0], bin, "agent"];
process.removeAllListeners("uncaughtException");
import(require("url").pathToFileURL(bin).href);
`;

/**
 * The command that receives the package on a host and runs its agent. The shell removes the folder, however Node ends. It is
 * one line, as csh, which may be what ssh starts, has no longer texts in quotes.
 */
export function receiveCommand(): string {
  const script = [
    'd=$(mktemp -d) || exit 1',
    `trap 'rm -rf "$d"' EXIT`,
    `trap 'exit 129' HUP INT TERM`,
    `node -e ${shellQuote(RECEIVE.trim().replace(/\n */g, ' '))} "$d"`,
  ].join('; ');
  return `sh -c ${shellQuote(script)}`;
}

/** Packs what the command reads: its length, and compressed the list of files and their contents. */
export function packPackage(): Buffer {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const own = ['bin', 'dist'].flatMap((folder) => listFiles(root, folder));
  const files = [
    ...['package.json', ...own].map((path) => [path, join(root, path)] as const),
    [`native/millrace.${platformName()}.node`, locateAddon()] as const,
  ].map(([name, path]) => [name.replaceAll(sep, '/'), readFileSync(path)] as const);
  const list = Buffer.from(JSON.stringify(files.map(([name, { length }]) => [name, length])));
  const contents = files.map(([, content]) => content);
  const packed = gzipSync(Buffer.concat([toLength(list), list, ...contents]), { level: 1 });
  return Buffer.concat([toLength(packed), packed]);
}

function toLength({ length }: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

/** Lists the files of a folder that run: neither types nor maps. */
function listFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.d\.c?ts$|\.map$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
