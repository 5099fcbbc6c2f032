import type { Enum, Field, ReflectionObject, Type } from 'protobufjs';
import { usageError } from '../../errors/millrace-error.js';
import { loadProtobuf } from './package.js';

/** Encodes a JSON text as a message (ProtoJSON); an empty text is an empty message. `where` names it in errors. */
export function encodeJson(text: string, type: Type, where: string): Uint8Array {
  const { json } = loadProtobuf();
  if (text.trim() === '') return new Uint8Array();
  parseJson(text, where);
  refuseInexactNumbers(text, where);
  return encode(() => json.fromJsonString(type, text), type, where);
}

/** Encodes a value of JSON as a message (ProtoJSON). */
export function encodeValue(value: unknown, type: Type, where: string): Uint8Array {
  const { json } = loadProtobuf();
  return encode(() => json.fromJson(type, value), type, where);
}

function parseJson(text: string, where: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    const [line] = (error as Error).message.split('\n', 1);
    throw usageError(`${where} must be JSON, as proto is given: ${line}`);
  }
}

/** Refuses whole numbers that JavaScript does not have: another one would be sent. */
function refuseInexactNumbers(text: string, where: string): void {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""');
  for (const [number] of withoutStrings.matchAll(/(?<![\w.+-])-?\d{16,}(?![\w.+-])/g)) {
    if (Number.isSafeInteger(Number(number))) continue;
    throw usageError(`${where}: ${number} is beyond 2^53: write it as text, "${number}"`);
  }
}

function encode(read: () => Parameters<Type['encode']>[0], type: Type, where: string): Uint8Array {
  try {
    return type.encode(read()).finish();
  } catch (error) {
    throw usageError(`${where}: ${describe((error as Error).message, type)}`);
  }
}

/** Puts an error of the package into words: it has the name of a type or field, what is wrong, and the value as JSON. */
function describe(message: string, type: Type): string {
  // What is wrong with base64 comes without a field.
  if (message === 'invalid encoding') return 'a field of bytes is not base64';
  const [, name, problem, value] =
    /^\.([\w.]+): ([^:]+)(?:: (.*))?$/s.exec(message.split('\n', 1)[0] ?? '') ?? [];
  if (name === undefined || problem === undefined) return message;
  const found = type.root.lookup(name);
  if (problem === 'unknown field') {
    return `${name} has no field ${value}: its fields are ${listFields(found)}`;
  }
  const got = value === undefined ? '' : ` (got ${value})`;
  if (problem !== 'unknown enum value') return `${name}: ${problem}${got}`;
  return `${name} must be one of ${listValues(found)}${got}`;
}

function listFields(type: ReflectionObject | null): string {
  const { fields = {} } = (type ?? {}) as Partial<Type>;
  return Object.keys(fields).join(', ') || 'none';
}

function listValues(field: ReflectionObject | null): string {
  const { resolvedType } = (field ?? {}) as Partial<Field>;
  return Object.keys((resolvedType as Enum | null)?.values ?? {}).join(', ');
}
