const bytes = Buffer.alloc(6_000_000);
for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >> 8) * 7) & 255;

/** Bytes by which a gap, a repetition or an exchange of places shows. */
export const pattern = (length) => bytes.subarray(0, length);
