import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const SCHEMA = new URL('../docs/reference/result.schema.json', import.meta.url);
const schema = JSON.parse(readFileSync(SCHEMA, 'utf8'));

/** Whether a value fits the published schema, which lets properties be added. */
export const fitsPublished = compile(schema);

/** Whether a value is a result of this version: it has all properties and no others. */
export const isResult = compile(closed(schema));

function compile(schema) {
  return new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema);
}

/** The schema with every object in it limited to the properties that it names. */
function closed(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const parts = Object.entries(schema).map(([key, value]) => [key, closed(value)]);
  const limit = schema.type === 'object' && schema.properties && { additionalProperties: false };
  return { ...limit, ...Object.fromEntries(parts) };
}
