// A small graph of a calculation: values run forward, then gradients back.
export const still = 2.1;

const NODES = [[0.08, 0.25], [0.08, 0.75], [0.36, 0.5], [0.64, 0.5], [0.92, 0.5]];
const NAMES = ["x", "w", "×", "σ", "Σ"];
const EDGES = [[0, 2], [1, 2], [2, 3], [3, 4]];

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const at = seconds % 4.5, forward = at < 2.2, part = forward ? at / 2 : (at - 2.2) / 2;
  const depth = ([x]) => (x - 0.08) / 0.84, r = Math.min(h * 0.15, 16);
  const place = ([x, y]) => [x * w, y * h];
  const reached = (node) => (forward ? depth(node) <= part + 0.01 : depth(node) >= 1 - part - 0.01);
  const hue = forward ? colour.accent : colour["run-2"];
  EDGES.forEach(([from, to]) => {
    const [a, b] = [place(NODES[from]), place(NODES[to])];
    c.strokeStyle = colour.edge;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(...a);
    c.lineTo(...b);
    c.stroke();
    const [low, high] = [depth(NODES[from]), depth(NODES[to])];
    const way = ((forward ? part : 1 - part) - low) / (high - low);
    if (way <= 0 || way >= 1) return;
    c.fillStyle = hue;
    c.beginPath();
    c.arc(a[0] + (b[0] - a[0]) * way, a[1] + (b[1] - a[1]) * way, 5, 0, 7);
    c.fill();
  });
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.font = `600 ${r}px ${getComputedStyle(c.canvas).fontFamily}`;
  NODES.forEach((node, k) => {
    const [x, y] = place(node), lit = reached(node);
    c.fillStyle = lit ? hue : colour.surface;
    c.strokeStyle = lit ? hue : colour.edge;
    c.beginPath();
    c.arc(x, y, r, 0, 7);
    c.fill();
    c.stroke();
    c.fillStyle = lit ? colour.surface : colour.ink;
    c.fillText(NAMES[k], x, y + 1);
  });
}
