// The worker of the page: one request at a time.
let core = null;
onmessage = ({ data }) => {
  if (data.module) {
    core = new Pcr99Core(data.module, (stage) => postMessage({ stage }));
    return;
  }
  try {
    const { head, parts } = core.call(data.request, data.buffers);
    postMessage({ head, parts }, parts.map((part) => part.buffer));
  } catch (error) {
    postMessage({ error: error.message });
  }
};
