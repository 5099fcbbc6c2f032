import { packageVersion } from '../../environment/version.js';
import type { Attributes } from './data.js';

/** The attributes of what sends: Millrace, unless the variables of OpenTelemetry say otherwise. */
export function readResource(env: NodeJS.ProcessEnv): Attributes {
  const { OTEL_RESOURCE_ATTRIBUTES: attributes = '', OTEL_SERVICE_NAME: name } = env;
  return {
    'service.name': 'millrace',
    'service.version': packageVersion(),
    ...Object.fromEntries(attributes.split(',').flatMap(readPair)),
    ...(name && { 'service.name': name }),
  };
}

/** Reads `name=value`, percent-encoded; what is none is left out. */
function readPair(text: string): [name: string, value: string][] {
  const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(text) ?? [];
  if (name === undefined || value === undefined) return [];
  try {
    return [[decodeURIComponent(name), decodeURIComponent(value)]];
  } catch {
    return [];
  }
}
