// The audio thread's part of sound_device.js: channels are averaged, resampled to 16 kHz and sent as int16 in pieces of
// 100 ms. Loaded as a module of its own; nothing is imported.

const RATE = 16000, PIECE = 1600, ZEROS = 12, ROLLOFF = 0.94;

// Another sample rate by a windowed sinc (J. O. Smith, Digital Audio Resampling): result m is the sum of x[n] h(n - m old / new).
// For each of the new / gcd phases of m the taps are a fixed row. `feed` gives all results whose taps have arrived.
class Resampler {
  constructor(from, to) {
    let [a, b] = [Math.round(from), to];
    while (b) [a, b] = [b, a % b];
    this.old = Math.round(from) / a;
    this.new = to / a;
    const cutoff = Math.min(1, this.new / this.old) * ROLLOFF; // of the old rate
    this.reach = Math.ceil(ZEROS / cutoff);
    this.rows = Array.from({ length: this.new }, (_, phase) => {
      const middle = (phase * this.old) / this.new;
      const first = Math.floor(middle) - this.reach + 1;
      return Float32Array.from({ length: 2 * this.reach }, (_, k) => {
        const x = (first + k - middle) * cutoff;
        if (Math.abs(x) >= ZEROS) return 0;
        const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
        return sinc * Math.cos((Math.PI * x) / (2 * ZEROS)) ** 2 * cutoff;
      });
    });
    this.held = new Float32Array(this.reach - 1); // silence before the first sample
    this.made = 0; // results, counted from a multiple of `new`
  }

  feed(samples) {
    const held = new Float32Array(this.held.length + samples.length);
    held.set(this.held);
    held.set(samples, this.held.length);
    const results = [];
    for (;;) {
      const turns = Math.floor(this.made / this.new), phase = this.made % this.new;
      const first = turns * this.old + Math.floor((phase * this.old) / this.new);
      if (first + 2 * this.reach > held.length) {
        // What lies before the present turn is not needed again.
        this.held = held.slice(turns * this.old);
        this.made -= turns * this.new;
        return results;
      }
      const row = this.rows[phase];
      let sum = 0;
      for (let k = 0; k < row.length; k++) sum += row[k] * held[first + k];
      results.push(sum);
      this.made++;
    }
  }
}

class Recorder extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = sampleRate === RATE ? null : new Resampler(sampleRate, RATE);
    this.piece = new Int16Array(PIECE);
    this.filled = 0;
    this.on = true;
    this.port.onmessage = () => { // the end
      this.on = false;
      this.send();
      this.port.postMessage(null);
    };
  }

  send() {
    if (!this.filled) return;
    const piece = this.piece.slice(0, this.filled);
    this.filled = 0;
    this.port.postMessage(piece.buffer, [piece.buffer]);
  }

  process([channels]) {
    if (!this.on) return false;
    if (!channels?.length) return true; // a microphone that gives nothing at the moment
    const mono = new Float32Array(channels[0].length);
    for (const channel of channels) for (let i = 0; i < mono.length; i++) mono[i] += channel[i] / channels.length;
    for (const value of this.resampler ? this.resampler.feed(mono) : mono) {
      this.piece[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(value * 32768)));
      if (this.filled === PIECE) this.send();
    }
    return true;
  }
}

registerProcessor("sampan-recorder", Recorder);
