// Reads a drawn digit without a kernel: prepares the ink as the UCI digits were prepared (`like_uci_digits` in
// views/train/drawing.py has the reasons and the constants), and computes a small network (digit_reader.py) on it.
// A picture is {height, width, data}: 0 is paper and 1 is ink, row by row.

const PAPER = 0.1, UCI_INK = 0.32, UCI_WIDTH = [12, 22], UPRIGHT = 0.8, UCI_CENTRE = 15.6;

const picture = (height, width) => ({ height, width, data: new Float64Array(height * width) });
const clip = (value, low, high) => Math.min(Math.max(value, low), high);

function crop({ height, width, data }) {
  let [top, bottom, left, right] = [height, -1, width, -1];
  for (let i = 0; i < height; i++) {
    for (let j = 0; j < width; j++) {
      if (data[i * width + j] <= PAPER) continue;
      [top, bottom] = [Math.min(top, i), Math.max(bottom, i)];
      [left, right] = [Math.min(left, j), Math.max(right, j)];
    }
  }
  if (bottom < 0) return null;
  const part = picture(bottom - top + 1, right - left + 1);
  for (let i = 0; i < part.height; i++) {
    for (let j = 0; j < part.width; j++) part.data[i * part.width + j] = data[(top + i) * width + left + j];
  }
  return part;
}

// The sums of the ink, and of the ink times `term(row, column)`.
function moment({ height, width, data }, term) {
  let sum = 0;
  for (let i = 0; i < height; i++) for (let j = 0; j < width; j++) sum += data[i * width + j] * term(i, j);
  return sum;
}

function upright(ink) {
  const { height, width, data } = ink;
  const total = moment(ink, () => 1);
  const row = moment(ink, (i) => i) / total, column = moment(ink, (_, j) => j) / total;
  const spread = moment(ink, (i) => (i - row) ** 2);
  const slant = clip(UPRIGHT * (spread > 0 ? moment(ink, (i, j) => (i - row) * (j - column)) / spread : 0), -1, 1);
  const margin = Math.ceil(Math.abs(slant) * height) + 1;
  const sheared = picture(height, width + 2 * margin);
  for (let i = 0; i < height; i++) {
    for (let j = 0; j < sheared.width; j++) {
      const at = j - margin + slant * (i - row);
      if (at < 0 || at > width - 1) continue;
      const low = Math.min(Math.floor(at), Math.max(width - 2, 0)), part = at - low;
      const next = width > 1 ? data[i * width + low + 1] : 0;
      sheared.data[i * sheared.width + j] = data[i * width + low] * (1 - part) + next * part;
    }
  }
  return sheared;
}

// Each new cell is the mean of the area that it covers, along rows and then along columns.
function resample(ink, height, width) {
  const shares = (old, size) => Array.from({ length: size }, (_, i) => {
    const low = (i * old) / size, high = ((i + 1) * old) / size;
    const found = [];
    for (let k = Math.floor(low); k < Math.min(Math.ceil(high), old); k++) {
      found.push([k, (Math.min(high, k + 1) - Math.max(low, k)) / (high - low)]);
    }
    return found;
  });
  const rows = shares(ink.height, height), columns = shares(ink.width, width);
  const half = picture(height, ink.width), out = picture(height, width);
  for (let i = 0; i < height; i++) {
    for (const [k, share] of rows[i]) {
      for (let j = 0; j < ink.width; j++) half.data[i * ink.width + j] += share * ink.data[k * ink.width + j];
    }
    for (let j = 0; j < width; j++) {
      for (const [k, share] of columns[j]) out.data[i * width + j] += share * half.data[i * ink.width + k];
    }
  }
  return out;
}

function blur({ height, width, data }) {
  const across = picture(height, width), out = picture(height, width);
  const at = (source, i, j) => (i < 0 || j < 0 || i >= height || j >= width ? 0 : source[i * width + j]);
  for (let i = 0; i < height; i++) for (let j = 0; j < width; j++) {
    across.data[i * width + j] = (at(data, i, j - 1) + 2 * at(data, i, j) + at(data, i, j + 1)) / 4;
  }
  for (let i = 0; i < height; i++) for (let j = 0; j < width; j++) {
    out.data[i * width + j] = (at(across.data, i - 1, j) + 2 * at(across.data, i, j) + at(across.data, i + 1, j)) / 4;
  }
  return out;
}

// The pad's bytes (side x side, 255 is ink) as the 64 numbers of a UCI digit; null for an empty pad.
export function likeUciDigits(bytes, side) {
  const first = crop({ height: side, width: side, data: Float64Array.from(bytes, (byte) => byte / 255) });
  const digit = first && crop(upright(first));
  if (!digit) return null;
  const width = clip(Math.round((32 * digit.width) / digit.height), ...UCI_WIDTH);
  const small = resample(digit, 32, width);
  const centre = moment(small, (_, j) => j) / moment(small, () => 1);
  const left = clip(Math.round(UCI_CENTRE - centre), 0, 32 - width);
  const bitmap = picture(32, 32);
  for (let i = 0; i < 32; i++) for (let j = 0; j < width; j++) bitmap.data[i * 32 + left + j] = small.data[i * width + j];
  const soft = blur(blur(bitmap)).data;
  const sorted = Float64Array.from(soft).sort(), place = (1 - UCI_INK) * (sorted.length - 1), below = Math.floor(place);
  const threshold = Math.max(sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]), 1e-6);
  const counts = new Float64Array(64);
  soft.forEach((value, k) => { counts[(k >> 7) * 8 + ((k & 31) >> 2)] += value >= threshold ? 1 / 16 : 0; });
  return counts;
}

// digit_reader.json with its weights unpacked: [{weight, bias}], `weight` row by row [inputs, outputs].
export function unpack(network) {
  return network.layers.map(({ weight, bias }) => {
    const bytes = Int8Array.from(atob(weight.int8), (letter) => letter.charCodeAt(0));
    return { weight: Float64Array.from(bytes, (byte) => byte * weight.scale), bias };
  });
}

// Ten probabilities of 64 numbers.
export function probabilities(layers, numbers) {
  let x = numbers;
  layers.forEach(({ weight, bias }, depth) => {
    const inputs = depth ? x.map((value) => Math.max(value, 0)) : x;
    x = bias.map((start, j) => {
      let sum = start;
      for (let i = 0; i < inputs.length; i++) sum += inputs[i] * weight[i * bias.length + j];
      return sum;
    });
  });
  const most = Math.max(...x), parts = x.map((value) => Math.exp(value - most));
  const total = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / total);
}
