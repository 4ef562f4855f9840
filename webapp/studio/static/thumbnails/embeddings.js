// Points of four kinds in space, turning.
export const still = 0.8;

const noise = (k) => Math.abs(Math.sin(k * 78.233) * 43758.5453) % 1 - 0.5;
const POINTS = Array.from({ length: 96 }, (_, k) => {
  const kind = k % 4, centre = [[0.6, 0.3, 0.2], [-0.6, 0.35, -0.3], [0.1, -0.4, 0.6], [-0.2, -0.3, -0.6]][kind];
  return { kind, at: centre.map((value, axis) => value + noise(k * 3 + axis) * 0.62) };
});

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const angle = 0.5 + seconds * 0.7, size = Math.min(w * 0.42, h * 0.75);
  const turned = POINTS.map(({ kind, at: [x, y, z] }) => ({
    kind, y,
    x: x * Math.cos(angle) - z * Math.sin(angle),
    z: x * Math.sin(angle) + z * Math.cos(angle),
  })).sort((a, b) => a.z - b.z);
  for (const { kind, x, y, z } of turned) {
    const near = (z + 1.2) / 2.4;
    c.fillStyle = colour[`run-${kind + 1}`];
    c.globalAlpha = 0.35 + 0.65 * Math.min(Math.max(near, 0), 1);
    c.beginPath();
    c.arc(w / 2 + x * size * 1.5, h / 2 - y * size * 0.8, 1.6 + 2.6 * near, 0, 7);
    c.fill();
  }
  c.globalAlpha = 1;
}
