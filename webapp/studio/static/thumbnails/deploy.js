// A chain of calls becomes a shorter one: neighbours are joined, and what stays moves together.
export const still = 5.2;

const CALLS = ["run-1", "run-3", "run-4", "run-1", "run-3", "run-4", "soft", "run-2"];
const JOINED = [0, 0, 0, 1, 1, 1, 2, 3]; // the place of each call afterwards
const PERIOD = 7;

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const s = seconds % PERIOD, on = Math.min(Math.max((s - 1.5) / 2, 0), 1), back = Math.min(Math.max((s - 6) / 0.8, 0), 1);
  const at = (on * on * (3 - 2 * on)) * (1 - back);
  const step = w / (CALLS.length + 1), radius = Math.min(h * 0.16, step * 0.34);
  const x = (i) => (i + 1) * step * (1 - at) + ((JOINED[i] + 1) * w / 5) * at;
  c.strokeStyle = colour.line;
  c.lineWidth = 2;
  c.beginPath();
  c.moveTo(x(0), h / 2);
  c.lineTo(x(CALLS.length - 1), h / 2);
  c.stroke();
  for (let i = CALLS.length - 1; i >= 0; i--) {
    const first = JOINED.indexOf(JOINED[i]) === i;
    c.globalAlpha = first ? 1 : 1 - at;
    c.fillStyle = colour[CALLS[i]];
    c.beginPath();
    c.arc(x(i), h / 2, radius * (first && JOINED.lastIndexOf(JOINED[i]) > i ? 1 + 0.5 * at : 1), 0, 2 * Math.PI);
    c.fill();
  }
  c.globalAlpha = 1;
}
