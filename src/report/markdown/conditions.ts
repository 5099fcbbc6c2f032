import { chooseSign, describeOutcome, type JudgedCondition } from '../conditions.js';
import { escapeMarkdown, formatCode, formatItems } from './markup.js';

/** Formats conditions with the measured values as a list. */
export function formatConditions(conditions: JudgedCondition[]): string {
  return formatItems(
    conditions.map(
      ({ condition, holds, measured }) =>
        `${chooseSign(holds)} ${formatCode(condition)} ${describeOutcome(holds)}: ${escapeMarkdown(measured)}`,
    ),
  );
}

/** Formats warnings as a list. */
export function formatWarnings(messages: string[]): string {
  return formatItems(messages.map((message) => `**Warning:** ${escapeMarkdown(message)}`));
}
