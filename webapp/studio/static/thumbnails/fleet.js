// Four workers pass pieces around a ring; one is gone for a while, and the others wait.
export const still = 2;

const PERIOD = 6, GONE = [3, 4.2];

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const s = seconds % PERIOD, gone = s > GONE[0] && s < GONE[1];
  const radius = Math.min(w, h) * 0.34, dot = Math.min(w, h) * 0.09;
  const at = (turn) => [w / 2 + radius * Math.cos(turn * 2 * Math.PI - Math.PI / 2), h / 2 + radius * Math.sin(turn * 2 * Math.PI - Math.PI / 2)];
  c.strokeStyle = colour.line;
  c.lineWidth = 2;
  c.beginPath();
  c.arc(w / 2, h / 2, radius, 0, 2 * Math.PI);
  c.stroke();
  const moved = (gone ? GONE[0] : s > GONE[1] ? s - (GONE[1] - GONE[0]) : s) / 2;
  for (let k = 0; k < 4; k++) {
    const [x, y] = at(k / 4 + (moved % 1) / 4);
    c.fillStyle = colour.edge;
    c.fillRect(x - dot / 3, y - dot / 3, dot / 1.5, dot / 1.5);
  }
  for (let k = 0; k < 4; k++) {
    const [x, y] = at(k / 4);
    c.globalAlpha = k === 1 && gone ? 0.2 : 1;
    c.fillStyle = colour[`run-${k + 1}`];
    c.beginPath();
    c.arc(x, y, dot, 0, 2 * Math.PI);
    c.fill();
  }
  c.globalAlpha = 1;
}
