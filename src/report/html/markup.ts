/** A piece of HTML that is safe to put into a page. Only `html` and `trusted` make one. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text is escaped, markup is not; `null` is nothing. */
export type Child = Markup | string | number | null | readonly Child[];

/** A template for HTML: whatever is put into it is escaped, in content and in quoted attributes alike. */
export function html(strings: TemplateStringsArray, ...children: Child[]): Markup {
  const parts = strings.map((part, index) => part + render(children[index] ?? null));
  return new Markup(parts.join(''));
}

/** Text that is HTML already and does not come from outside. */
export function markTrusted(text: string): Markup {
  return new Markup(text);
}

/** Data for scripts. No `<` is left in it, so that nothing in the data can end the element. */
export function renderJsonScript(id: string, data: unknown): Markup {
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  return html`<script type="application/json" id="${id}">${markTrusted(json)}</script>`;
}

function render(child: Child): string {
  if (child === null) return '';
  if (child instanceof Markup) return child.text;
  if (typeof child === 'object') return child.map(render).join('');
  return String(child).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
