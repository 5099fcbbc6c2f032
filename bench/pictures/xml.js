// Escapes text for XML.

/** Escapes text for the content of an element and for attributes in double quotes. */
export function escapeXml(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
