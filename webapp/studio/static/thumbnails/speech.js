// A waveform runs past; the part that was heard is in colour.
export const still = 3;

const BARS = 56;
const loud = (k) => {
  const word = Math.max(Math.sin(k * 0.24) * 0.8 + Math.sin(k * 0.071 + 1) * 0.5, 0.04);
  return word * (0.55 + 0.45 * Math.abs(Math.sin(k * 2.7)));
};

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const shift = seconds * 7, step = w / BARS;
  for (let k = 0; k < BARS; k++) {
    const size = Math.max(loud(k + Math.floor(shift)) * h * 0.9, 2), x = (k - (shift % 1)) * step;
    c.fillStyle = k < BARS * 0.68 ? colour.accent : colour.edge;
    c.fillRect(x, (h - size) / 2, step * 0.55, size);
  }
  c.fillStyle = colour["run-2"];
  c.fillRect(w * 0.68, h * 0.05, 2, h * 0.9);
}
