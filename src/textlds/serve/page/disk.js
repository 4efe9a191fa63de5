// Browsers refuse modules from disk: a page that was opened as a file says what to do instead of staying empty.

if (location.protocol === "file:") {
  addEventListener("DOMContentLoaded", () => {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = "Browsers do not run this page from disk. Hand its folder out with a web server, for example: "
      + "python -m http.server -d FOLDER, and open http://127.0.0.1:8000. Nothing leaves your machine.";
    document.getElementById("main").replaceChildren(notice);
  });
}
