// Names and quantities as Kubernetes has them.
import { mustBe } from '../../../validation/shape.js';

/** Reads the name of an object: its pods are named after it, with their number (RFC 1123: 63 characters). */
export function readName(value: string, flag: string): string {
  if (/^[a-z]([a-z0-9-]{0,46}[a-z0-9])?$/.test(value)) return value;
  throw mustBe(flag, 'at most 48 of a-z, 0-9 and -, such as checkout-load', value);
}

/** Reads the name of an image. */
export function readImage(value: string, flag: string): string {
  if (/^[\w.-]\S*$/.test(value)) return value;
  throw mustBe(flag, 'the name of an image such as registry.test/load:1', value);
}

/** Reads a number of cores. */
export function readCpu(value: string, flag: string): string {
  if (/^(?:\d+(?:\.\d{1,3})?|\d+m)$/.test(value) && Number.parseFloat(value) > 0) return value;
  throw mustBe(flag, 'cores such as 2, 0.5 or 500m', value);
}

/** Reads a size of memory. */
export function readMemory(value: string, flag: string): string {
  if (/^\d+(?:\.\d+)?(?:[kMG]|[KMG]i)?$/.test(value) && Number.parseFloat(value) > 0) return value;
  throw mustBe(flag, 'a quantity of Kubernetes such as 512Mi or 1Gi', value);
}
