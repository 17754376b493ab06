// What all pages share: colours that follow the page's, and buttons that copy.
const pcr99 = (function () {
  "use strict";
  const root = document.documentElement;
  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const narrow = window.matchMedia("(max-width: 600px)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");

  // Calls back when colours or sizes have to be chosen anew.
  function onChange(redraw) {
    for (const query of [narrow, dark, print]) query.addEventListener("change", redraw);
  }

  // Without the clipboard's permission, as on some local pages, the old way.
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
  return { color, narrow, onChange, copy };
})();
