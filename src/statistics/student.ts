/** 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom. */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086,
] as const;

const NORMAL_QUANTILE = 1.959964;

/**
 * Returns the 97.5 % quantile of Student's t: half the width of a two-sided 95 % interval in standard errors. Beyond
 * the table it is the first two terms of the expansion in 1 / degrees of freedom (Abramowitz and Stegun 26.7.5),
 * accurate to 0.001.
 */
export function studentQuantile(degreesOfFreedom: number): number {
  const z = NORMAL_QUANTILE;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  return (
    T_QUANTILES[degreesOfFreedom - 1] ??
    z + first / degreesOfFreedom + second / degreesOfFreedom ** 2
  );
}
