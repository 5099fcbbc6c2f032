import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** The schemas by the names that they call each other. */
const schemas = ['result', 'explanation', 'capacity', 'lab'].map((kind) => {
  const name = `${kind}.schema.json`;
  const file = new URL(`../docs/reference/${name}`, import.meta.url);
  return [name, JSON.parse(readFileSync(file, 'utf8'))];
});

const published = validatorOf(schemas);
const exact = validatorOf(schemas.map(([name, schema]) => [name, closed(schema)]));

/** Whether a value fits the published schema, which lets properties be added. */
export const fitsPublished = published('result.schema.json');
export const fitsPublishedExplanation = published('explanation.schema.json');
export const fitsPublishedCapacity = published('capacity.schema.json');

/** Whether a value is a result of this version: it has all properties and no others. */
export const isResult = exact('result.schema.json');
export const isExplanation = exact('explanation.schema.json');
export const isCapacityResult = exact('capacity.schema.json');
export const isSweep = exact('capacity.schema.json#/$defs/sweep');
export const isLabResult = exact('lab.schema.json');
export const isSearch = exact('capacity.schema.json#/$defs/search');

/** The names of the studies, as the schema has them. */
export const publishedStudies = schemas[3][1].$defs.name.enum;

/** The ids of the limits, as the schema has them. */
export const publishedLimits = schemas[1][1].$defs.limit.enum;

/** What is read from the JSON of a value. */
export function asJson(value) {
  return JSON.parse(JSON.stringify(value));
}

function validatorOf(schemas) {
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
  for (const [name, schema] of schemas) ajv.addSchema(schema, name);
  return ($ref) => ajv.compile({ $ref });
}

/** The schema with every object in it limited to the properties that it names. */
function closed(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const parts = Object.entries(schema).map(([key, value]) => [key, closed(value)]);
  const limit = schema.type === 'object' && schema.properties && { additionalProperties: false };
  return { ...limit, ...Object.fromEntries(parts) };
}
