// The address that a server asks the person to open.

import { el, fresh } from "./tree.js";

// linkParts shows the whole address with its host set apart: {node, check}. With a warning the person
// has to say that the host was checked, and check asks for that.
export function linkParts(link) {
  const address = el("p", { class: "address" }, el("span", {}, link.before), el("strong", { class: "host" }, link.host), el("span", {}, link.after));
  const node = el("div", { class: "link" },
    el("p", { class: "faint" }, "Host"), el("p", { class: "host big" }, link.host),
    el("p", { class: "faint" }, "Whole address"), address);
  if (!link.warnings?.length) return { node, check: () => true };
  const wrong = el("p", { class: "wrong", id: fresh("wrong"), hidden: true }, "Check the host first, and say so here.");
  const id = fresh("checked");
  const box = el("input", { type: "checkbox", id, "aria-describedby": wrong.id });
  node.append(el("div", { class: "warning" }, el("p", {}, el("strong", {}, "Look twice")),
    el("ul", {}, ...link.warnings.map((w) => el("li", {}, w))),
    el("div", { class: "check" }, box, el("label", { for: id }, "I have checked the host, and want to go there")), wrong));
  return {
    node,
    check() {
      wrong.hidden = box.checked;
      if (!box.checked) box.focus();
      return box.checked;
    },
  };
}
