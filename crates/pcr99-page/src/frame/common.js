// Shared by all pages: colours of the current scheme, drawings that follow the size of their frames, and copy buttons.
const pcr99 = (function () {
  "use strict";
  const root = document.documentElement;
  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const narrow = window.matchMedia("(max-width: 600px)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");

  // Calls back when the colour scheme or the width class changes.
  function onChange(redraw) {
    for (const query of [narrow, dark, print]) query.addEventListener("change", redraw);
  }

  // Redraws when the window, a scroll bar or a font changes the size of a frame.
  const frames = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const [width, height] = [target.clientWidth, target.clientHeight];
      // There is no time to redraw for paper, and hidden frames have no size.
      if (print.matches || !width || !height) continue;
      const drawn = target._fullLayout;
      if (Math.abs(drawn.width - width) >= 1 || Math.abs(drawn.height - height) >= 1) Plotly.Plots.resize(target);
    }
  });

  // Draws or redraws.
  async function draw(frame, data, layout, config) {
    const isNew = !frame._fullLayout;
    await Plotly.react(frame, data, layout, config);
    measure(frame);
    if (isNew) frame.on("plotly_afterplot", () => measure(frame));
    frames.observe(frame);
  }

  // The style sheet for paper scales a drawing by --width. It must be what is drawn: a frame may have a new size some time before its drawing has it.
  function measure(frame) {
    frame.style.setProperty("--width", frame._fullLayout.width);
  }

  // Fallback for pages without the permission to use the clipboard, such as some local files.
  function copyByHand(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  async function copy(button, text) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copyByHand(text);
      button.focus();
    }
    const usual = button.dataset.usual ?? (button.dataset.usual = button.textContent);
    button.textContent = done ? "Copied" : "Not allowed";
    document.getElementById("said").textContent = done ? "Copied" : "The browser does not allow copying";
    clearTimeout(button.timer);
    button.timer = setTimeout(() => { button.textContent = usual; }, 1500);
  }

  for (const button of document.querySelectorAll("button.copy[data-text]")) {
    button.addEventListener("click", () => copy(button, button.dataset.text));
  }
  return { color, narrow, onChange, draw, copy };
})();
