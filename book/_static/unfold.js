// Opens what is folded when somebody follows a link into it, and all of it on paper.
(() => {
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let opened = false;
    for (let up = target; up; up = up.parentElement)
      if (up.tagName === "DETAILS" && !up.open) opened = up.open = true;
    if (opened) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  addEventListener("DOMContentLoaded", unfold);
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details:not([open])")) {
      folded.open = true;
      folded.dataset.unfolded = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const folded of document.querySelectorAll("details[data-unfolded]")) {
      folded.open = false;
      delete folded.dataset.unfolded;
    }
  });
})();
