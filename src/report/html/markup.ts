import {
  REPLACEMENT,
  replaceControls,
  replaceRunnerLines,
  replaceRunnerMarks,
} from '../encoding.js';
import { encodeJson } from '../json.js';

/** HTML that is safe to put into a page. Only `html` and `markTrusted` create it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template: text is escaped, markup is not; `null` is empty. */
export type Child = Markup | string | number | null | readonly Child[];

/** Renders a template; values are escaped for content and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...children: Child[]): Markup {
  const parts = strings.map((part, index) => part + render(children[index] ?? null));
  return new Markup(parts.join(''));
}

/** Marks text as HTML. It must not contain external input. */
export function markTrusted(text: string): Markup {
  return new Markup(text);
}

/** Renders data for scripts. `<` is escaped, so that the data cannot end the element. */
export function renderJsonScript(id: string, data: unknown): Markup {
  const json = encodeJson(JSON.stringify(data)).replaceAll('<', '\\u003c');
  return html`<script type="application/json" id="${id}">${markTrusted(json)}</script>`;
}

/** Capitalizes a sentence, such as that of a verdict, which in text reports follows "LIMIT: ". */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Encodes text for content and quoted attributes. Lines and tabs stay. */
function encodeHtml(text: string): string {
  const escaped = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const shown = replaceControls(escaped, (control) =>
    /[\n\t]/.test(control) ? control : REPLACEMENT,
  );
  return replaceRunnerLines(replaceRunnerMarks(shown, '&#35;'), '&#58;');
}

function render(child: Child): string {
  if (child === null) return '';
  if (child instanceof Markup) return child.text;
  if (typeof child === 'object') return child.map(render).join('');
  return encodeHtml(String(child));
}
