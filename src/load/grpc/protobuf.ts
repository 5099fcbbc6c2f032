import { dirname, isAbsolute, join } from 'node:path';
import type { Enum, Field, Method, Root, Service, Type } from 'protobufjs';
import { usageError } from '../../errors/millrace-error.js';
import type { GrpcMethod } from './message.js';
import { readWellKnown } from './well-known-types.js';

type Protobuf = typeof import('protobufjs');
type Message = Record<string, unknown>;

/** Encodes a message that is given as JSON (the JSON mapping of proto3), as the request of a method in a .proto file. */
export async function encodeMessage(
  file: string,
  { service, method }: GrpcMethod,
  json: string,
): Promise<Uint8Array> {
  const protobuf = await loadProtobuf();
  const root = await loadFile(protobuf, file);
  const found = findMethod(findService(protobuf, root, file, service), method);
  if (found.requestStream) {
    throw usageError(
      `${service}/${method} is a stream of requests: unary calls and streams of responses can be sent`,
    );
  }
  const type = found.resolvedRequestType;
  if (!type) throw usageError(`${file}: the request type of ${service}/${method} is unknown`);
  const message = readFields(parseJson(json), type, type.name);
  try {
    return type.encode(type.fromObject(message)).finish();
  } catch (error) {
    throw usageError(`the body is not a ${type.name}: ${messageOf(error)}`);
  }
}

async function loadProtobuf(): Promise<Protobuf> {
  try {
    const module = await import('protobufjs');
    return (module as unknown as { default?: Protobuf }).default ?? module;
  } catch {
    throw usageError('proto needs the package protobufjs: npm install protobufjs');
  }
}

/** Loads a file with those that it imports: beside it, or in a folder above. */
async function loadFile(protobuf: Protobuf, file: string): Promise<Root> {
  const { existsSync } = await import('node:fs');
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => {
    if (isAbsolute(target) || protobuf.common.get(target)) return target;
    for (let folder = dirname(file); ; folder = dirname(folder)) {
      const path = join(folder, target);
      if (existsSync(path) || folder === dirname(folder)) return path;
    }
  };
  try {
    await root.load(file);
    root.resolveAll();
    return root;
  } catch (error) {
    throw usageError(`proto: cannot read '${file}': ${messageOf(error)}`);
  }
}

function findService(protobuf: Protobuf, root: Root, file: string, name: string): Service {
  const services: Service[] = [];
  const collect = (namespace: InstanceType<Protobuf['Namespace']>): void => {
    for (const nested of namespace.nestedArray) {
      if (nested instanceof protobuf.Service) services.push(nested);
      else if (nested instanceof protobuf.Namespace) collect(nested);
    }
  };
  collect(root);
  const nameOf = ({ fullName }: Service) => fullName.replace(/^\./, '');
  const found = services.find((service) => nameOf(service) === name);
  if (found) return found;
  const known = services.map(nameOf).join(', ');
  throw usageError(`'${file}' has no service '${name}'${known === '' ? '' : `: it has ${known}`}`);
}

function findMethod(service: Service, name: string): Method {
  const found = service.methods[name];
  if (found) return found.resolve() as Method;
  const known = Object.keys(service.methods).join(', ');
  throw usageError(`${service.name} has no method '${name}': it has ${known}`);
}

function parseJson(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`the body must be JSON, as there is proto: ${messageOf(error)}`);
  }
}

/** Reads an object of JSON as the fields of a message; names as in the file are accepted beside those in camel case. */
function readFields(value: unknown, type: Type, where: string): Message {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`${where} must be an object (got ${JSON.stringify(value)})`);
  }
  const fields = new Map<string, Field>();
  for (const field of type.fieldsArray) {
    fields.set(field.name, field.resolve() as Field);
    fields.set(toSnakeCase(field.name), field);
  }
  const message: Message = {};
  for (const [name, item] of Object.entries(value)) {
    const field = fields.get(name);
    if (!field) {
      const known = type.fieldsArray.map((one) => one.name).join(', ') || 'none';
      throw usageError(`${where} has no field '${name}': its fields are ${known}`);
    }
    if (item !== null) message[field.name] = readField(item, field, `${where}.${name}`);
  }
  return message;
}

function readField(value: unknown, field: Field, where: string): unknown {
  if (field.repeated) {
    if (!Array.isArray(value))
      throw usageError(`${where} must be a list (got ${JSON.stringify(value)})`);
    return value.map((item, index) => readSingle(item, field, `${where}[${index}]`));
  }
  if (field.map) {
    const entries = Object.entries(value as Message);
    return Object.fromEntries(
      entries.map(([key, item]) => [key, readSingle(item, field, `${where}.${key}`)]),
    );
  }
  return readSingle(value, field, where);
}

function readSingle(value: unknown, { resolvedType, type }: Field, where: string): unknown {
  if (resolvedType === null) return readScalar(value, type, where);
  if (!('fieldsArray' in resolvedType)) return readEnum(value, resolvedType, where);
  const known = readWellKnown(value, resolvedType.fullName);
  return known === undefined ? readFields(value, resolvedType, where) : known;
}

function readEnum(value: unknown, { values }: Enum, where: string): unknown {
  if (typeof value === 'number' || Object.hasOwn(values, String(value))) return value;
  throw usageError(
    `${where} must be one of ${Object.keys(values).join(', ')} (got ${JSON.stringify(value)})`,
  );
}

/** What a type of numbers accepts; 64-bit numbers are text in JSON. */
function readScalar(value: unknown, type: string, where: string): unknown {
  const isText = typeof value === 'string';
  const fits =
    type === 'string' || type === 'bytes'
      ? isText
      : type === 'bool'
        ? typeof value === 'boolean'
        : typeof value === 'number' || (isText && value !== '' && !Number.isNaN(Number(value)));
  if (fits) return value;
  throw usageError(`${where} must be of type ${type} (got ${JSON.stringify(value)})`);
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}
