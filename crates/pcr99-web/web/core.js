// Calls the compiled core: fills its buffers, and reads its answers.
class Pcr99Core {
  // `module` is a WebAssembly.Module; `stage` gets the name of each stage when it begins.
  constructor(module, stage = () => {}) {
    this.module = module;
    this.stage = stage;
    this.instance = null;
  }

  start() {
    const imports = {
      pcr99_now: () => performance.now() / 1000,
      pcr99_stage: (at, size) => this.stage(new TextDecoder().decode(this.bytes(at, size))),
    };
    // The libraries for dates and drawings name functions of the browser that are never called.
    const unused = new Proxy({}, { get: (_, name) => () => { throw new Error(`${String(name)} is not available`); } });
    const modules = new Proxy({ pcr99: imports }, { get: (known, name) => known[name] ?? unused, has: () => true });
    this.instance = new WebAssembly.Instance(this.module, modules);
  }

  bytes(at, size) {
    return new Uint8Array(this.instance.exports.memory.buffer, at >>> 0, size >>> 0);
  }

  // Answers a request, an object; the buffers are files or doubles. Returns the head of the answer and its parts, as bytes.
  call(request, buffers = []) {
    if (!this.instance) this.start();
    const { exports } = this.instance;
    try {
      for (const buffer of [new TextEncoder().encode(JSON.stringify(request)), ...buffers]) {
        const bytes = ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
        const at = exports.pcr99_input(bytes.length);
        if (!at) throw new Pcr99Error(Pcr99Core.noMemory);
        this.bytes(at, bytes.length).set(bytes);
      }
      const count = exports.pcr99_call();
      const parts = Array.from({ length: count }, (_, k) => this.bytes(exports.pcr99_output(k), exports.pcr99_output_size(k)).slice());
      const head = JSON.parse(new TextDecoder().decode(parts.shift()));
      if (head.error !== undefined) throw new Pcr99Error(head.error);
      return { head, parts };
    } catch (error) {
      if (error instanceof Pcr99Error) throw error;
      throw new Pcr99Error(this.failure(error));
    }
  }

  // Why the module ended; it is started anew for the next request.
  failure(error) {
    const { exports } = this.instance;
    this.instance = null;
    if (!(error instanceof WebAssembly.RuntimeError) && !(error instanceof RangeError)) return String(error);
    const memory = exports.memory.buffer;
    const size = exports.pcr99_failure_size();
    if (size) return new TextDecoder().decode(new Uint8Array(memory, exports.pcr99_failure() >>> 0, size));
    return error instanceof RangeError ? `internal error, please report it: ${error.message}` : Pcr99Core.noMemory;
  }
}
Pcr99Core.noMemory = "there is not enough memory: WebAssembly has at most 4 GiB; use the program, or fewer points";

// An input that cannot be used, or an option that is wrong.
class Pcr99Error extends Error {
  constructor(message) {
    super(message);
    this.name = "Pcr99Error";
  }
}
