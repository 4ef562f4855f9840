// Home: the pad with its small network, and the pictures on the cards. Nothing here needs a kernel, and nothing moves where
// the visitor has asked for less motion; what moves by itself ends within five seconds.
//
//   [data-digit]            the pad's part: data-pad, data-reader and data-network are addresses, data-words the sentences
//   canvas[data-thumbnail]  the address of a module: `still`, a moment in seconds; default (picture, seconds) => draws it

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const PLAY_S = 4.5;
const FRAME_MS = 40;

// ---- the pad ---------------------------------------------------------------------------------------

// A three, as a hand draws it: points in 0..1.
const THREE = [[0.3, 0.24], [0.4, 0.16], [0.55, 0.15], [0.67, 0.24], [0.64, 0.38], [0.48, 0.47], [0.64, 0.53], [0.71, 0.67], [0.63, 0.81], [0.47, 0.86], [0.32, 0.79]];

// What digit_pad.js expects of a widget's model.
function model(values, changed) {
  const listeners = new Map();
  return {
    get: (name) => values[name],
    set(name, value) {
      values[name] = value;
      changed(name, value);
      (listeners.get(`change:${name}`) ?? []).forEach((listener) => listener());
    },
    save_changes() {},
    send(message) { changed("message", message); },
    on(names, listener) { names.split(" ").forEach((name) => listeners.set(name, [...(listeners.get(name) ?? []), listener])); },
    off() {},
  };
}

async function digit(part) {
  const [pad, reader, network] = await Promise.all([
    import(part.dataset.pad),
    import(part.dataset.reader),
    fetch(part.dataset.network).then((reply) => reply.json()),
  ]);
  const layers = reader.unpack(network);
  const words = JSON.parse(part.dataset.words);
  const answer = part.querySelector("[data-answer]"), bars = [...part.querySelectorAll(".tr-bars li")];
  const seen = part.querySelector("canvas[data-seen]");
  const side = 140;
  let byHand = false, timer = 0;

  function paint(numbers) {
    const context = seen.getContext("2d");
    context.clearRect(0, 0, 8, 8);
    context.fillStyle = getComputedStyle(seen).color;
    numbers?.forEach((value, k) => {
      context.globalAlpha = value;
      context.fillRect(k % 8, k >> 3, 1, 1);
    });
    context.globalAlpha = 1;
  }

  function tell(bytes) {
    const numbers = bytes && reader.likeUciDigits(bytes, side);
    const shares = numbers && reader.probabilities(layers, numbers);
    const best = shares ? shares.indexOf(Math.max(...shares)) : -1;
    paint(numbers);
    bars.forEach((bar, k) => {
      const share = shares ? shares[k] : 0;
      bar.classList.toggle("is-best", k === best);
      bar.querySelector(".sp-bar").style.width = `${(share * 100).toFixed(1)}%`;
      bar.lastElementChild.textContent = `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
    });
    const text = shares ? words.answer.replace("{digit}", best).replace("{share}", `${Math.round(shares[best] * 100)} %`) : words.empty;
    part.dataset.best = String(best);
    // A screen reader need not hear every step.
    clearTimeout(timer);
    timer = setTimeout(() => { answer.textContent = text; }, 250);
  }

  const drawing = model({ side, label: words.label, hint: words.hint, clear_label: words.clear, strokes: [] }, (name, value) => {
    if (name === "message") {
      byHand = true;
      if (value.clear) tell(null);
    } else if (name === "pixels") {
      tell(new Uint8Array(value.buffer));
    }
  });
  pad.default.render({ model: drawing, el: part.querySelector("[data-pad-place]") });
  part.dataset.ready = "true";
  addEventListener("pointerdown", (event) => { byHand ||= part.contains(event.target); });

  if (calm.matches) return drawing.set("strokes", [THREE]);
  const began = performance.now();
  const step = (now) => {
    if (byHand) return;
    const done = Math.min(Math.max(now - began, 0) / 1600, 1) * (THREE.length - 1), whole = Math.floor(done);
    const line = THREE.slice(0, whole + 1);
    if (whole < THREE.length - 1) {
      const [a, b] = [THREE[whole], THREE[whole + 1]];
      line.push([0, 1].map((k) => a[k] + (b[k] - a[k]) * (done - whole)));
    }
    drawing.set("strokes", [line]);
    if (done < THREE.length - 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

document.querySelectorAll("[data-digit]").forEach(digit);

// ---- the pictures on the cards -------------------------------------------------------------------------

const COLOURS = ["ink", "soft", "line", "edge", "accent", "wash", "bad", "surface", "run-1", "run-2", "run-3", "run-4", "run-5"];

async function thumbnail(canvas) {
  const { default: draw, still } = await import(canvas.dataset.thumbnail);
  const card = canvas.closest(".sp-card");
  let running = 0;

  function frame(seconds) {
    const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.globalAlpha = 1;
    const colour = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--sp-${name}`).trim()]));
    draw({ context, width, height, colour }, seconds);
  }

  function play() {
    if (running || calm.matches) return;
    const began = performance.now();
    let last = 0;
    const step = (now) => {
      const seconds = Math.max(now - began, 0) / 1000;
      if (seconds >= PLAY_S || document.hidden) {
        running = 0;
        return frame(still);
      }
      if (now - last >= FRAME_MS) { last = now; frame(seconds); }
      running = requestAnimationFrame(step);
    };
    running = requestAnimationFrame(step);
  }

  frame(still);
  canvas.dataset.drawn = "true";
  new ResizeObserver(() => running || frame(still)).observe(canvas);
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && play(), { threshold: 0.6 }).observe(canvas);
  ["pointerenter", "focusin"].forEach((name) => card.addEventListener(name, play));
  const again = () => running || frame(still);
  addEventListener("sampan-theme", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

document.querySelectorAll("canvas[data-thumbnail]").forEach(thumbnail);
