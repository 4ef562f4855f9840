// The microphone and the loudspeaker of the visitor: see SoundDevice in views/common/widgets.py for the messages. Sound
// is recorded in the audio thread (sound_worklet.js). Pieces that the kernel has not answered are counted: beyond
// `window` they wait here, and of those that wait the oldest are dropped, so that nothing piles up.

const MOST_WAITING = 30;
// What the browser says (DOMException.name), and the page's word for it.
const TROUBLE = { NotAllowedError: "denied", SecurityError: "denied", NotFoundError: "none", OverconstrainedError: "none", NotReadableError: "busy", AbortError: "busy" };
const WANTED = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };

function render({ model, el }) {
  const words = model.get("words");
  const root = document.createElement("div");
  root.className = "so-device";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sp-button so-record";
  root.append(button);
  el.append(root);

  let run = 0, state = "idle"; // idle, asking, on, ending
  let context = null, stream = null, node = null; // of the recording
  let seq = 0, unanswered = 0, lost = 0, waiting = [], trouble = "";
  let speaker = null, sounding = null; // of what is played

  function show(next) {
    state = next;
    root.dataset.state = state;
    button.textContent = words[state === "idle" ? "record" : state === "asking" ? "asking" : "stop"];
    button.disabled = model.get("disabled") || state === "asking" || state === "ending";
    button.classList.toggle("is-danger", state === "on");
    if (model.get("recording") !== (state === "on")) {
      model.set("recording", state === "on");
      model.save_changes();
    }
  }

  function flush() {
    while (waiting.length && unanswered < model.get("window")) {
      const piece = waiting.shift();
      model.send({ kind: "chunk", run, seq, dtype: "int16", samples: piece.byteLength / 2, lost }, undefined, [piece]);
      seq++;
      unanswered++;
      root.dataset.sent = String(seq);
    }
  }

  function heard(piece) {
    waiting.push(piece);
    if (waiting.length > MOST_WAITING) {
      waiting.shift();
      lost++;
      root.dataset.lost = String(lost);
    }
    flush();
  }

  async function begin() {
    show("asking");
    try {
      if (!navigator.mediaDevices?.getUserMedia || !window.AudioWorkletNode) throw new DOMException("", "Unsupported");
      const given = await navigator.mediaDevices.getUserMedia({ audio: WANTED });
      const [track] = given.getAudioTracks();
      stream = given;
      context = new AudioContext();
      const source = URL.createObjectURL(new Blob([model.get("worklet")], { type: "text/javascript" }));
      await context.audioWorklet.addModule(source).finally(() => URL.revokeObjectURL(source));
      await context.resume();
      node = new AudioWorkletNode(context, "sampan-recorder", { numberOfOutputs: 0 });
      run++;
      seq = unanswered = lost = 0;
      waiting = [];
      node.port.onmessage = ({ data }) => (data ? heard(data) : closed());
      track.addEventListener("ended", () => { if (stream === given) end("ended"); }); // pulled out, or taken away
      model.send({ kind: "begin", run });
      context.createMediaStreamSource(stream).connect(node);
      show("on");
    } catch (error) {
      release();
      show("idle");
      const why = window.isSecureContext ? TROUBLE[error.name] ?? "failed" : "insecure";
      model.send({ kind: "trouble", why, detail: `${error.name}: ${error.message}`.slice(0, 200) });
    }
  }

  // The recorder sends its last piece and then null: closed() follows.
  function end(why = "") {
    if (state !== "on") return;
    trouble = why;
    show("ending");
    node.port.postMessage("end");
    setTimeout(() => { if (state === "ending") closed(); }, 1000); // an audio thread that has stopped answers nothing
  }

  function closed() {
    if (state !== "ending") return;
    flush();
    if (trouble) model.send({ kind: "trouble", why: trouble, detail: "" });
    model.send({ kind: "end", run });
    waiting = [];
    release();
    show("idle");
  }

  function release() {
    stream?.getTracks().forEach((track) => track.stop());
    node?.disconnect();
    context?.close();
    stream = node = context = null;
  }

  function hush() {
    sounding?.stop();
    sounding = null;
    root.dataset.playing = "false";
  }

  async function play(rate, view) {
    hush();
    const samples = new Int16Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
    speaker ??= new AudioContext();
    await speaker.resume();
    const sound = speaker.createBuffer(1, Math.max(samples.length, 1), rate);
    sound.copyToChannel(Float32Array.from(samples, (value) => value / 32768), 0);
    const node = speaker.createBufferSource();
    node.buffer = sound;
    node.connect(speaker.destination);
    node.onended = () => { if (sounding === node) hush(); };
    node.start();
    sounding = node;
    root.dataset.playing = "true";
    root.dataset.played = String(samples.length);
  }

  function told(content, buffers) {
    if (content.kind === "ack" && content.run === run) {
      unanswered--;
      flush();
    } else if (content.kind === "stop" || content.kind === "hush") {
      hush();
      if (content.kind === "stop") end();
    } else if (content.kind === "play") play(content.rate, buffers[0]);
  }

  const changed = () => show(state);
  button.addEventListener("click", () => (state === "idle" ? begin() : end()));
  model.on("msg:custom", told);
  model.on("change:disabled", changed);
  show("idle");
  return () => {
    model.off("msg:custom", told);
    model.off("change:disabled", changed);
    hush();
    release();
    speaker?.close();
  };
}

export default { render };
