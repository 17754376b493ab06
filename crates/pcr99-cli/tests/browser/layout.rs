//! What holds of every page: nothing loaded, nothing failed, nothing beside the screen, no text upon text, readable colours, names
//! on all controls.

use crate::devtools::Browser;

/// Texts that lie on each other, and are both to be seen.
const OVERLAPS: &str = r#"(() => {
  const shown = (it) => it.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !it.closest(".unseen, .hoverlayer");
  const leaves = [...document.querySelectorAll("main *")].filter((it) =>
    shown(it) && !it.closest("script, style") && [...it.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const boxes = leaves.map((it) => {
    const range = document.createRange();
    range.selectNodeContents(it);
    return { it, text: it.textContent.trim().slice(0, 40), rects: [...range.getClientRects()].filter((r) => r.width > 0) };
  });
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const found = [];
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      if (a.it.contains(b.it) || b.it.contains(a.it) || a.it.closest(".wide") !== b.it.closest(".wide")) continue;
      if (a.rects.some((r) => b.rects.some((s) => meet(r, s)))) found.push(`${a.text} | ${b.text}`);
    }
  }
  return found;
})()"#;

/// The least contrast of any text with the page (WCAG 2: at least 4.5 to be readable), and which text has it.
const CONTRAST: &str = r#"(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (css) => {
    const [r, g, b] = rgb(css).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (it) => { for (let at = it; at; at = at.parentElement) { const css = getComputedStyle(at).backgroundColor; if (rgb(css)[3] > 0) return css; } return "white"; };
  let least = [99, ""];
  for (const it of document.querySelectorAll("main *")) {
    const own = [...it.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !it.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || it.closest("script, style")) continue;
    const style = getComputedStyle(it);
    const [a, b] = [light(it instanceof SVGElement ? style.fill : style.color), light(behind(it))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, it.textContent.trim().slice(0, 60)];
  }
  return least;
})()"#;

/// Controls without a name for those who cannot see them.
const NAMELESS: &str = r#"[...document.querySelectorAll("button, input, select, [tabindex]:not([tabindex='-1'])")]
  .filter((it) => !(it.getAttribute("aria-label") || it.textContent.trim() || it.labels?.[0]?.textContent.trim()) && !it.closest(".js-plotly-plot"))
  .map((it) => it.outerHTML)"#;

/// Drawings that are not as large as their frames.
const MISFITS: &str = r#"[...document.querySelectorAll(".js-plotly-plot")]
  .filter((it) => Math.abs(it._fullLayout.width - it.clientWidth) > 1 || Math.abs(it._fullLayout.height - it.clientHeight) > 1)
  .map((it) => [it.className, it._fullLayout.width, it.clientWidth, it._fullLayout.height, it.clientHeight])"#;

/// Drawings that their frames cut off, or fill less than half.
const CUT: &str = r#"[...document.querySelectorAll(".js-plotly-plot")]
  .map((it) => [it.className, it.querySelector(".svg-container").getBoundingClientRect(), it.getBoundingClientRect()])
  .filter(([_, drawn, frame]) => drawn.width > frame.width + 2 || drawn.height > frame.height + 2 || drawn.width < 0.45 * frame.width)"#;

/// What concerns a printed page (A4 with the usual margins): nothing beside the paper, no text upon text, whole drawings.
#[track_caller]
pub(crate) fn check_on_paper(browser: &mut Browser) {
    // People print what they see: a window that has just changed its size is drawn again first.
    browser.wait_for(&format!("{MISFITS}.length === 0"));
    browser.call("Emulation.setEmulatedMedia", serde_json::json!({ "media": "print" }));
    let paper = serde_json::json!({ "width": 718, "height": 1047, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", paper);
    browser.settle();
    // Drawings take the size of the paper after it is known.
    browser.wait_for(&format!("{CUT}.length === 0"));
    crate::keep_picture(browser, "paper");
    let widths = browser.value("[document.documentElement.scrollWidth, innerWidth]");
    assert!(widths[0].as_f64() <= widths[1].as_f64(), "wider than the paper: {widths}");
    assert_eq!(browser.value(OVERLAPS), serde_json::json!([]), "text upon text");
    assert_eq!(browser.value(CUT), serde_json::json!([]), "drawings that do not fit");
    browser.call("Emulation.setEmulatedMedia", serde_json::json!({ "media": "" }));
}

/// All of it, as the page is now.
#[track_caller]
pub(crate) fn check(browser: &mut Browser) {
    browser.wait_for(&format!("{MISFITS}.length === 0"));
    let widths = browser.value("[document.documentElement.scrollWidth, innerWidth]");
    assert!(widths[0].as_f64() <= widths[1].as_f64(), "wider than the screen: {widths}");
    let overlaps = browser.value(OVERLAPS);
    assert_eq!(overlaps, serde_json::json!([]), "text upon text");
    let contrast = browser.value(CONTRAST);
    assert!(contrast[0].as_f64().is_some_and(|contrast| contrast >= 4.5), "hard to read: {contrast}");
    let nameless = browser.value(NAMELESS);
    assert_eq!(nameless, serde_json::json!([]), "controls without a name");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
