/* What the theme leaves out for screen readers and keyboards. */
const forAll = (selector, change) => document.querySelectorAll(selector).forEach(change);

function mend() {
  forAll(".md-typeset__scrollwrap, .highlight pre > code", (each) => each.setAttribute("tabindex", "0"));
  forAll("th:empty", (each) => each.replaceWith(document.createElement("td")));
  forAll(".md-version__current[aria-label]", (each) => each.removeAttribute("aria-label")); /* it has a text */
  forAll("nav nav, .md-code__nav", (each) => {
    ["aria-label", "aria-labelledby", "aria-expanded"].forEach((name) => each.removeAttribute(name));
    each.setAttribute("role", "none"); /* one landmark for the navigation, not one per section or button */
  });
}

addEventListener("DOMContentLoaded", () => {
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
});
