// What look() in browser.py measures. Returns plain lists and numbers.
() => {
  const visible = (element) => element.getClientRects().length > 0;
  const shortened = (text) => text.trim().replace(/\s+/g, " ").slice(0, 80);

  // Texts with the boxes of their lines, cut to whatever scrolls around them.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxes = [];
  const texts = [];
  for (let node = walker.nextNode(), number = 0; node; node = walker.nextNode(), number += 1) {
    const parent = node.parentElement;
    if (!node.data.trim() || !visible(parent) || parent.closest("style, title, desc")) continue;
    texts.push(node.data.trim());
    if (parent.closest("details:not([open]) > :not(summary)")) continue;  // folded: there to be read, not to be seen
    const frame = parent.closest(".scroll");
    const limits = frame && getComputedStyle(frame).overflowX !== "visible" ? frame.getBoundingClientRect() : null;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      // A font's box is higher than its letters; its side bearings may touch.
      const box = {
        number, text: shortened(node.data), svg: parent.closest("svg"),
        left: line.left + 0.5, right: line.right - 0.5,
        top: line.top + 0.14 * line.height, bottom: line.bottom - 0.14 * line.height,
      };
      if (parent.closest("svg") && line.height > 2 * line.width) {
        box.top = line.top + 0.5; box.bottom = line.bottom - 0.5;
        box.left = line.left + 0.14 * line.width; box.right = line.right - 0.14 * line.width;
      }
      if (limits) {
        box.left = Math.max(box.left, limits.left);
        box.right = Math.min(box.right, limits.right);
      }
      if (box.right > box.left && box.bottom > box.top) boxes.push(box);
    }
  }

  const overlapping = [];
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((one, k) => {
    for (let j = k + 1; j < boxes.length && boxes[j].top < one.bottom; j += 1) {
      const other = boxes[j];
      if (other.number !== one.number && other.left < one.right && one.left < other.right) {
        overlapping.push([one.text, other.text]);
      }
    }
  });

  const cut = boxes.filter(({ svg, left, right, top, bottom }) => {
    if (!svg) return false;
    const edge = svg.getBoundingClientRect();
    return left < edge.left - 1 || right > edge.right + 1 || top < edge.top - 1 || bottom > edge.bottom + 1;
  }).map((box) => box.text);

  const pictures = [...document.querySelectorAll("svg")].filter(visible);
  const unlabelled = pictures.flatMap((picture) =>
    picture.getAttribute("role") === "img" && (picture.getAttribute("aria-label") || "").trim() ? [] : ["a picture: alt"]);
  document.querySelectorAll("img").forEach((image) => { if (!image.alt.trim()) unlabelled.push(`${image.src}: alt`); });

  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const live = [...document.querySelectorAll("*")].filter((element) =>
    /^(script|iframe|object|embed|foreignobject)$/i.test(element.localName)
    || [...element.attributes].some(({ name, value }) => /^on/i.test(name) || /^\s*javascript:/i.test(value)));
  const root = document.documentElement;
  return {
    overlapping, cut, unlabelled, texts,
    duplicate_ids: ids.filter((id, k) => ids.indexOf(id) !== k),
    overflow: Math.max(0, root.scrollWidth - root.clientWidth),
    scripts: live.length,
    pictures: pictures.length,
  };
}
