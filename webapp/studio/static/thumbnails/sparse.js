// A matrix with few entries; its product with a vector visits only these.
export const still = 2.6;

const ROWS = 8, COLUMNS = 22;
const full = (i, j) => (i * 37 + j * 53 + ((i * j) % 7) * 11) % 10 === 0;

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const cell = Math.min(h / ROWS, (w * 0.9) / COLUMNS), gap = Math.max(cell * 0.16, 1);
  const row = Math.min((seconds / 4) * ROWS, ROWS), left = (w - cell * (COLUMNS + 2)) / 2;
  for (let i = 0; i < ROWS; i++) {
    let sum = 0;
    for (let j = 0; j < COLUMNS; j++) {
      const entry = full(i, j), passed = i < Math.floor(row) || (i === Math.floor(row) && j / COLUMNS < row % 1);
      sum += entry && passed ? 1 : 0;
      c.fillStyle = entry ? (passed ? colour.accent : colour["run-2"]) : colour.line;
      c.globalAlpha = entry ? 1 : 0.45;
      c.fillRect(left + j * cell, i * cell, cell - gap, cell - gap);
    }
    c.globalAlpha = Math.min(sum / 3, 1) * 0.85 + 0.15;
    c.fillStyle = colour["run-3"];
    c.fillRect(left + (COLUMNS + 1) * cell, i * cell, cell - gap, cell - gap);
    c.globalAlpha = 1;
  }
}
