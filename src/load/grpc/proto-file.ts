import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Root, Service, Type } from 'protobufjs';
import { fileErrorReason } from '../../errors/file-errors.js';
import { usageError } from '../../errors/millrace-error.js';
import type { GrpcMethod } from './message.js';

type Protobuf = typeof import('protobufjs');

/** The package that reads .proto files: an optional one. */
const PACKAGE = 'protobufjs';

/** Finds the type of a method's request in a .proto file. */
export function findRequestType(path: string, { service, method }: GrpcMethod): Type {
  const protobuf = loadPackage();
  const root = readProto(path, protobuf);
  const services = listServices(root, protobuf);
  const quoted = `proto '${path}'`;
  const found = services.find((it) => nameOf(it) === service);
  if (!found) {
    const names = services.map(nameOf);
    const known = names.length === 0 ? 'no service' : names.join(', ');
    throw usageError(`${quoted} has no service '${service}': it has ${known}`);
  }
  const called = found.methods[method];
  if (!called) {
    const known = Object.keys(found.methods).map((name) => `${service}/${name}`);
    throw usageError(
      `${quoted}: ${service} has no method '${method}': it has ${known.join(', ') || 'none'}`,
    );
  }
  if (called.requestStream) {
    throw usageError(
      `grpc: ${service}/${method} takes a stream of messages: only calls with one message are supported`,
    );
  }
  // The file has been resolved as a whole.
  if (called.resolvedRequestType === null) throw new Error('a method without a type');
  return called.resolvedRequestType;
}

/** Loads the package: beside this one, or from the folder of the user's project. */
function loadPackage(): Protobuf {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return createRequire(from)(PACKAGE) as Protobuf;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw usageError(
    `proto needs the package ${PACKAGE}, which is not installed: npm install ${PACKAGE}`,
  );
}

function readProto(path: string, protobuf: Protobuf): Root {
  const root = new protobuf.Root();
  const file = resolve(path);
  root.resolvePath = (origin, target) => (origin === '' ? file : findImport(origin, target));
  try {
    root.loadSync(file, { keepCase: true });
    root.resolveAll();
    return root;
  } catch (error) {
    throw usageError(`proto '${path}' cannot be read: ${describe(error as NodeJS.ErrnoException)}`);
  }
}

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === undefined) return error.message.split('\n', 1)[0] ?? '';
  return `${error.path === undefined ? '' : `${error.path}: `}${fileErrorReason(error)}`;
}

/** Finds an imported file: relative to the file that imports it, or to a folder above. */
function findImport(origin: string, target: string): string {
  if (isAbsolute(target)) return target;
  for (let folder = dirname(origin); ; folder = dirname(folder)) {
    const path = join(folder, target);
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return join(dirname(origin), target);
  }
}

function listServices(namespace: Root, protobuf: Protobuf): Service[] {
  const list = (nested: Root['nestedArray']): Service[] =>
    nested.flatMap((it) => {
      if (it instanceof protobuf.Service) return [it];
      return it instanceof protobuf.Namespace ? list(it.nestedArray) : [];
    });
  return list(namespace.nestedArray);
}

function nameOf(service: Service): string {
  return service.fullName.replace(/^\./, '');
}
