const WIDTH = 640;
const HEIGHT = 400;

/** Draws circles around the middle, by the letters of the name, and keeps one row in 40. */
export default function draw({ name }) {
  const pixels = new Uint8Array((WIDTH * HEIGHT) / 40);
  const seed = [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const far = Math.hypot(x - WIDTH / 2, y - HEIGHT / 2);
      const shade = 127 + 127 * Math.sin(far / (3 + (seed % 9)));
      if (y % 40 === 0) pixels[(y / 40) * WIDTH + x] = shade;
    }
  }
  return pixels;
}
