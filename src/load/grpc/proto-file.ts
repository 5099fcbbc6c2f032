import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Root, Service, Type } from 'protobufjs';
import { fileErrorReason } from '../../errors/file-errors.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { noteFile } from '../input/provided.js';
import type { GrpcMethod } from './message.js';
import { loadProtobuf, type Protobuf } from './package.js';

/** Finds the type of a method's request in a .proto file. */
export function findRequestType(path: string, { service, method }: GrpcMethod): Type {
  const { protobuf, folder } = loadProtobuf();
  const services = listServices(readProto(path, protobuf, folder), protobuf);
  const quoted = `proto '${path}'`;
  const found = services.find((it) => nameOf(it) === service);
  if (!found) {
    const known = services.map(nameOf).join(', ') || 'none';
    throw usageError(`${quoted} has no service '${service}': it has ${known}`);
  }
  const called = found.methods[method];
  if (!called) {
    const known = Object.keys(found.methods).join(', ') || 'none';
    throw usageError(`${quoted}: ${service} has no method '${method}': it has ${known}`);
  }
  if (called.requestStream) {
    const others = found.methodsArray.filter(({ requestStream }) => !requestStream);
    const known = others.map(({ name }) => name).join(', ') || 'none';
    throw usageError(
      `${service}/${method} takes a stream of messages: methods that take one message can be called, here ${known}`,
    );
  }
  // All types of the file have been resolved.
  if (called.resolvedRequestType === null) throw new Error('a method without a type');
  return called.resolvedRequestType;
}

/** Reads a file with those that it imports; `bundled` is the folder of the package, which has some of Google's. */
function readProto(path: string, protobuf: Protobuf, bundled: string): Root {
  const root = new protobuf.Root();
  const file = resolve(path);
  root.resolvePath = (origin, target) =>
    origin === '' ? target : findImport(target, origin, bundled);
  try {
    root.loadSync(file, { keepCase: true });
    for (const read of root.files) noteFile(read);
    return root.resolveAll() as Root;
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(`proto '${path}' cannot be read: ${describe(error, file)}`);
  }
}

/** Finds an imported file: in the folder of the file that imports it, in one above it, or in the package. */
function findImport(target: string, origin: string, bundled: string): string {
  if (isAbsolute(target)) return target;
  const paths = [...listFoldersUpwards(dirname(origin)), bundled].map((it) => join(it, target));
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw usageError(
    `proto '${origin}' imports '${target}', which is neither in its folder nor in one above it`,
  );
}

function listFoldersUpwards(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...listFoldersUpwards(above)];
}

function describe(error: unknown, file: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  // The file is named before it.
  if (code === undefined) return (message.split('\n', 1)[0] ?? '').replace(`${file}, `, '');
  return fileErrorReason(error);
}

function listServices(root: Root, protobuf: Protobuf): Service[] {
  const list = (nested: Root['nestedArray']): Service[] =>
    nested.flatMap((it) => {
      if (it instanceof protobuf.Service) return [it];
      return it instanceof protobuf.Namespace ? list(it.nestedArray) : [];
    });
  return list(root.nestedArray);
}

function nameOf(service: Service): string {
  return service.fullName.replace(/^\./, '');
}
