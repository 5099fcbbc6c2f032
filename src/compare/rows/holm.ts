/** A row whose confidence is corrected. */
export interface HolmClaim {
  /** Whether its interval of this confidence says more than "cannot tell". */
  tells(confidence: number): boolean;
}

/**
 * Chooses the confidence of each row's interval so that with the probability `confidence` no row's word is wrong (Holm
 * 1979). Of m rows all begin with an error of (1 - confidence) / m. Rows that tell something at that keep it and leave;
 * the error is divided anew among the others, until none of them tells anything more. An interval is thus the one that
 * its row's word was decided by. The result is in the order of the rows.
 *
 * The bound holds for the words of all rows together, in whatever way they depend on each other. It does not hold for
 * the intervals of all rows together: each covers its ratio with the confidence that is shown with it.
 */
export function correctConfidences(claims: readonly HolmClaim[], confidence: number): number[] {
  const confidences = new Map<HolmClaim, number>();
  let remaining = claims;
  while (remaining.length > 0) {
    const corrected = 1 - (1 - confidence) / remaining.length;
    const telling = remaining.filter((claim) => claim.tells(corrected));
    const decided = telling.length > 0 ? telling : remaining;
    for (const claim of decided) confidences.set(claim, corrected);
    remaining = remaining.filter((claim) => !confidences.has(claim));
  }
  return claims.map((claim) => confidences.get(claim) ?? confidence);
}
