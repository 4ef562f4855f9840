// Two losses that fall, and the bars of ten digits that become one.
export const still = 4.4;

const noise = (k) => Math.sin(k * 12.9898) * 43758.5453 % 1;

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const done = Math.min(seconds / 4, 1), plot = w * 0.6;
  c.strokeStyle = colour.line;
  c.beginPath();
  c.moveTo(0.5, 0);
  c.lineTo(0.5, h - 0.5);
  c.lineTo(plot, h - 0.5);
  c.stroke();
  [[colour["run-2"], 2.2, 0.22], [colour["run-1"], 4.5, 0.08]].forEach(([stroke, speed, floor], run) => {
    c.strokeStyle = stroke;
    c.lineWidth = 2;
    c.beginPath();
    for (let k = 0; k <= 60 * done; k++) {
      const x = k / 60, y = floor + (0.92 - floor) * Math.exp(-speed * x) + 0.05 * noise(k + 70 * run) * (1 - x);
      c.lineTo(2 + x * (plot - 4), h - 4 - y * (h - 8));
    }
    c.stroke();
  });
  const left = plot + w * 0.06, row = h / 10;
  for (let k = 0; k < 10; k++) {
    const start = 0.25 + 0.12 * noise(k + 5), end = k === 3 ? 0.97 : 0.02;
    const share = start + (end - start) * (1 - Math.exp(-4 * done));
    c.fillStyle = k === 3 ? colour.accent : colour.edge;
    c.fillRect(left, k * row + row * 0.2, Math.max((w - left) * share, 2), row * 0.6);
  }
}
