// Messages of two hops run to one node.
export const still = 1.7;

const NODES = [[0.5, 0.5], [0.3, 0.28], [0.3, 0.74], [0.7, 0.24], [0.72, 0.72], [0.1, 0.16], [0.11, 0.52], [0.14, 0.88], [0.9, 0.12], [0.9, 0.48], [0.88, 0.88]];
const EDGES = [[1, 0], [2, 0], [3, 0], [4, 0], [5, 1], [6, 1], [6, 2], [7, 2], [8, 3], [9, 3], [9, 4], [10, 4]];

export default function draw({ context: c, width: w, height: h, colour }, seconds) {
  const at = (seconds % 4.5) / 2;
  const place = (k) => [NODES[k][0] * w, NODES[k][1] * h];
  EDGES.forEach(([from, to]) => {
    const [a, b] = [place(from), place(to)], way = at - (to === 0 ? 1 : 0);
    c.strokeStyle = colour.edge;
    c.globalAlpha = 0.6;
    c.lineWidth = 1.2;
    c.beginPath();
    c.moveTo(...a);
    c.lineTo(...b);
    c.stroke();
    c.globalAlpha = 1;
    if (way <= 0 || way >= 1) return;
    c.fillStyle = colour["run-2"];
    c.beginPath();
    c.arc(a[0] + (b[0] - a[0]) * way, a[1] + (b[1] - a[1]) * way, 3.5, 0, 7);
    c.fill();
  });
  NODES.forEach((_, k) => {
    const ring = k === 0 ? 0 : k < 5 ? 1 : 2, lit = ring === 2 || at >= 2 - ring;
    c.fillStyle = lit ? colour.accent : colour.surface;
    c.strokeStyle = colour.accent;
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(...place(k), ring === 0 ? 9 : 5.5, 0, 7);
    c.fill();
    c.stroke();
  });
}
