import { nodeCrypto } from './node-tls.js';

/** Suites that the reactor has, by their numbers: OpenSSL's names and the standard ones. */
export const SUITES = new Map([
  [0x1301, ['TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256']],
  [0x1302, ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384']],
  [0x1303, ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256']],
  [0xc02b, ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']],
  [0xc02c, ['ECDHE-ECDSA-AES256-GCM-SHA384', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384']],
  [0xc02f, ['ECDHE-RSA-AES128-GCM-SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']],
  [0xc030, ['ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384']],
  [0xcca8, ['ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256']],
  [0xcca9, ['ECDHE-ECDSA-CHACHA20-POLY1305', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256']],
]);

const NUMBERS = new Map([...SUITES].map(([number, [name = '']]) => [name, number]));
/** Classes that have none of them, so that it does not matter whether they are left out. */
const OUTSIDE =
  /^!(aNULL|eNULL|NULL|EXP|EXPORT|LOW|MEDIUM|DES|3DES|RC2|RC4|IDEA|SEED|CAMELLIA|ARIA|MD5|SHA|SHA1|PSK|SRP|DSS|aDSS|DH|ADH|EDH|DHE|kRSA|kDH|kDHE|kECDH|AECDH|SSLv2|SSLv3|CBC3-SHA)$/;
const SUITE_NAME = /^[A-Z0-9]+(-[A-Z0-9]+)+$/;

/**
 * The suites of a list in OpenSSL's form, TLS 1.3's first, as far as they come before one that the reactor has not:
 * clients that have none of these are Node's own code's. Empty: the default list. `null`: a list that is more
 * than names.
 */
export function suitesOf(text: string): number[] | null {
  if (text === nodeCrypto().constants.defaultCoreCipherList) return [];
  const words = text.split(/[: ,]/).filter((word) => word !== '' && !OUTSIDE.test(word));
  if (words.some((word) => word !== 'HIGH' && !SUITE_NAME.test(word) && !/^TLS_\w+$/.test(word)))
    return null;
  const modern = words.filter((word) => word.startsWith('TLS_'));
  const older = words.filter((word) => !word.startsWith('TLS_'));
  const suites = [...leading(modern.length > 0 ? modern : MODERN), ...leading(older)];
  return suites.length > 0 ? suites : null;
}

const MODERN = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];

function leading(names: string[]): number[] {
  const numbers = names.map((name) => NUMBERS.get(name));
  const end = numbers.indexOf(undefined);
  return (end < 0 ? numbers : numbers.slice(0, end)) as number[];
}
