const MAX_NAME_LENGTH = 120;

/** Replaces the parts of a path that identify one thing of its kind with `:id`. */
export function toRouteName(path: string): string {
  const segments = path.split('/').map((segment) => (isId(segment) ? ':id' : segment));
  const name = segments.join('/');
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
}

function isId(segment: string): boolean {
  return NUMBER.test(segment) || UUID.test(segment) || (HEX.test(segment) && /\d/.test(segment));
}

const NUMBER = /^\d+$/;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const HEX = /^[\da-f]{8,}$/i;
