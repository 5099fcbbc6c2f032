// Messages of protobuf from JSON: fields by their names in the file or in lowerCamelCase, as the JSON mapping of protobuf has it.
import type { Enum, FieldBase, Type } from 'protobufjs';
import { usageError } from '../../errors/millrace-error.js';
import { findNearest } from '../../validation/nearest.js';
import { describeValue, isObject } from '../../validation/shape.js';
import { readWellKnown } from './well-known-types.js';

/** Encodes a JSON text as a message; `where` is the place for messages of errors. */
export function encodeJson(text: string, type: Type, where: string): Uint8Array {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`${where} must be JSON, as proto is given: ${(error as Error).message}`);
  }
  return encodeValue(value, type, where);
}

/** Encodes a value of JSON as a message. */
export function encodeValue(value: unknown, type: Type, where: string): Uint8Array {
  const message = type.fromObject(convertMessage(value, type, where));
  const wrong = type.verify(message);
  if (wrong !== null) throw usageError(`${where}: ${wrong}`);
  return type.encode(message).finish();
}

function convertMessage(value: unknown, type: Type, where: string): Record<string, unknown> {
  if (!isObject(value) || Array.isArray(value))
    throw mustBe(where, `an object of ${type.name}`, value);
  const converted: Record<string, unknown> = {};
  for (const [name, it] of Object.entries(value)) {
    const field = findField(name, type, where);
    field.resolve();
    // In JSON null is a field without a value.
    if (it !== null) converted[field.name] = convertField(it, field, `${where}: ${name}`);
  }
  return converted;
}

function findField(name: string, type: Type, where: string): FieldBase {
  const field = type.fields[name] ?? type.fieldsArray.find((it) => toJsonName(it) === name);
  if (field) return field;
  const known = Object.keys(type.fields);
  const near = findNearest(name, known);
  const hint = near ? `did you mean ${near}?` : `it has ${known.join(', ') || 'none'}`;
  throw usageError(`${where}: ${type.name} has no field '${name}'; ${hint}`);
}

function toJsonName(field: FieldBase): string {
  const own: unknown = field.options?.json_name;
  return typeof own === 'string'
    ? own
    : field.name.replaceAll(/_+(.)/g, (_, it: string) => it.toUpperCase());
}

function convertField(value: unknown, field: FieldBase, where: string): unknown {
  if (field.map) return convertMap(value, field, where);
  if (!field.repeated) return convertSingle(value, field, where);
  if (!Array.isArray(value)) throw mustBe(where, 'a list', value);
  return value.map((it, index) => convertSingle(it, field, `${where}[${index}]`));
}

function convertMap(value: unknown, field: FieldBase, where: string): unknown {
  if (!isObject(value) || Array.isArray(value)) throw mustBe(where, 'an object', value);
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, it]) => [key, convertSingle(it, field, `${where}.${key}`)]),
  );
}

function convertSingle(value: unknown, field: FieldBase, where: string): unknown {
  const { resolvedType } = field;
  if (resolvedType === null) return convertScalar(value, field.type, where);
  if ('values' in resolvedType) return convertEnum(value, resolvedType, where);
  const known = readWellKnown(value, resolvedType.fullName);
  return known === undefined ? convertMessage(value, resolvedType, where) : known;
}

function convertEnum(value: unknown, { name, values }: Enum, where: string): number {
  if (Number.isInteger(value)) return Number(value);
  const number = typeof value === 'string' ? values[value] : undefined;
  if (number !== undefined) return number;
  throw mustBe(where, `one of ${name}: ${Object.keys(values).join(', ')}`, value);
}

/** The range of each type of whole numbers. */
const RANGES: Record<string, [least: bigint, most: bigint]> = Object.fromEntries(
  (['int', 'sint', 'sfixed', 'uint', 'fixed'] as const).flatMap((kind) =>
    [32n, 64n].map((bits) => {
      const isSigned = !['uint', 'fixed'].includes(kind);
      const least = isSigned ? -(2n ** (bits - 1n)) : 0n;
      return [`${kind}${bits}`, [least, isSigned ? -least - 1n : 2n ** bits - 1n]];
    }),
  ),
);

function convertScalar(value: unknown, type: string, where: string): unknown {
  const range = RANGES[type];
  if (range) return convertWhole(value, type, range, where);
  switch (type) {
    case 'bool':
      if (typeof value === 'boolean') return value;
      throw mustBe(where, 'true or false', value);
    case 'string':
      if (typeof value === 'string') return value;
      throw mustBe(where, 'text', value);
    case 'bytes':
      if (typeof value === 'string' && /^[\w+/-]*={0,2}$/.test(value))
        return Buffer.from(value, 'base64');
      throw mustBe(where, 'bytes in base64', value);
    default:
      return convertFloat(value, where);
  }
}

function convertWhole(
  value: unknown,
  type: string,
  [least, most]: [bigint, bigint],
  where: string,
): number | string {
  const isWhole =
    Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d+$/.test(value));
  const number = isWhole ? BigInt(value as number | string) : null;
  if (number === null || number < least || number > most) {
    throw mustBe(where, `a whole number of ${type}; one beyond 2^53 is text`, value);
  }
  return type.endsWith('64') ? String(number) : Number(number);
}

function convertFloat(value: unknown, where: string): number {
  if (typeof value === 'number') return value;
  const isText = typeof value === 'string' && value.trim() !== '';
  if (isText && (value === 'NaN' || !Number.isNaN(Number(value)))) return Number(value);
  throw mustBe(where, 'a number', value);
}

function mustBe(where: string, accepted: string, value: unknown): Error {
  return usageError(`${where} must be ${accepted} (got ${describeValue(value)})`);
}
