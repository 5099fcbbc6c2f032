import { randomBytes } from 'node:crypto';
import { usageError } from '../../errors/millrace-error.js';
import type { MultipartPart, RequestStep } from '../../scenario/steps.js';
import { describeValue, isObject } from '../../validation/shape.js';

/** The body of a step: its content, how placeholders are filled in, and its media type. */
export interface StepBody {
  content: string | Uint8Array;
  format: 'text' | 'json' | 'form';
  type?: string;
}

/** Builds the body of a step; `null` if it has none. */
export function buildBody(step: RequestStep, where: string): StepBody | null {
  if (step.json !== undefined) {
    const content = toJson(step.json, where);
    return { content, format: 'json', type: 'application/json' };
  }
  if (step.form !== undefined) {
    return {
      content: encodeForm(step.form, where),
      format: 'form',
      type: 'application/x-www-form-urlencoded',
    };
  }
  if (step.multipart !== undefined) return buildMultipart(step.multipart, where);
  if (step.body === undefined) return null;
  if (typeof step.body === 'string' || step.body instanceof Uint8Array) {
    return { content: step.body, format: 'text' };
  }
  throw usageError(
    `${where}: body must be text or a Uint8Array (got ${describeValue(step.body)}); an object is json`,
  );
}

function toJson(value: unknown, where: string): string {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch {
    // It contains itself, or a bigint.
  }
  throw usageError(`${where}: json is no value of JSON (got ${describeValue(value)})`);
}

function encodeForm(form: Record<string, unknown>, where: string): string {
  if (!isObject(form)) {
    throw usageError(`${where}: form is an object of fields (got ${describeValue(form)})`);
  }
  return Object.entries(form)
    .map(([name, value]) => {
      if (!['string', 'number', 'boolean'].includes(typeof value)) {
        throw usageError(
          `${where}: form field '${name}' must be text, a number, true or false (got ${describeValue(value)})`,
        );
      }
      return `${encodeText(name)}=${encodeText(String(value))}`;
    })
    .join('&');
}

/** Encodes text but for placeholders, whose values the engine encodes. */
function encodeText(text: string): string {
  return text
    .split(/(\{\{.*?\}\})/)
    .map((part, index) =>
      index % 2 === 1 ? part : new URLSearchParams({ '': part }).toString().slice(1),
    )
    .join('');
}

function buildMultipart(parts: Record<string, MultipartPart>, where: string): StepBody {
  if (!isObject(parts)) {
    throw usageError(`${where}: multipart is an object of parts (got ${describeValue(parts)})`);
  }
  const boundary = `millrace-${randomBytes(12).toString('hex')}`;
  const pieces: Uint8Array[] = [];
  for (const [name, part] of Object.entries(parts)) {
    const { content, filename, type } =
      typeof part === 'string' ? { content: part, filename: undefined, type: undefined } : part;
    if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
      throw usageError(
        `${where}: multipart '${name}' is text or { content, filename, type } (got ${describeValue(part)})`,
      );
    }
    const disposition = [`form-data; name="${quote(name)}"`];
    if (filename !== undefined) disposition.push(`filename="${quote(filename)}"`);
    const head = [
      `--${boundary}`,
      `Content-Disposition: ${disposition.join('; ')}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ];
    pieces.push(
      Buffer.from(`${head.join('\r\n')}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    );
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  const content = Buffer.concat(pieces);
  const isBinary = content.includes(0) || !content.equals(Buffer.from(content.toString('utf8')));
  if (isBinary && content.includes('{{')) {
    throw usageError(`${where}: multipart with a binary part cannot have placeholders`);
  }
  return { content, format: 'text', type: `multipart/form-data; boundary=${boundary}` };
}

/** As browsers quote names (WHATWG HTML, multipart/form-data encoding algorithm). */
function quote(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
