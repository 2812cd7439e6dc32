#!/usr/bin/env python3
"""Opens every page of the built site in a headless browser.

check.py FOLDER

It fails if a page does not render, an image is missing, a link or an anchor within the site is broken, or a search finds nothing.
"""

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

LIMIT = 300  # seconds for all pages

CHECKER = """<!doctype html><title>check</title><body><script>
const pages = PAGES, problems = [], anchors = {}, wanted = [];
const pause = ms => new Promise(done => setTimeout(done, ms));
async function open(url) {
  const frame = document.createElement("iframe");
  frame.style.width = "1200px"; frame.style.height = "900px";
  await new Promise(done => { frame.onload = done; frame.src = url; document.body.append(frame); });
  return frame;
}
async function look(page) {
  const frame = await open("/" + page), doc = frame.contentDocument;
  if (!doc) { problems.push(page + ": does not open"); frame.remove(); return; }
  const article = doc.querySelector("article");
  if (!article || article.innerText.trim().length < 40) problems.push(page + ": no content");
  anchors[page] = new Set([...doc.querySelectorAll("[id]")].map(e => e.id));
  for (const image of doc.images) {
    image.loading = "eager";
    await image.decode().catch(() => problems.push(page + ": image missing: " + image.getAttribute("src")));
  }
  for (const link of doc.querySelectorAll("a[href]")) {
    const url = new URL(link.href);
    if (url.origin === location.origin) wanted.push([page, url.pathname.slice(1), decodeURIComponent(url.hash.slice(1))]);
  }
  frame.remove();
}
async function search(word) {
  const frame = await open("/index.html"), doc = frame.contentDocument;
  const input = doc.querySelector("[data-md-component=search-query]");
  doc.querySelector("#__search").checked = true;
  for (let i = 0; i < 100; i++) {
    input.focus(); input.value = word;
    input.dispatchEvent(new Event("keyup", {bubbles: true}));
    await pause(100);
    if (doc.querySelector(".md-search-result__item")) { frame.remove(); return; }
  }
  problems.push("search does not find " + word);
}
(async () => {
  for (const page of pages) await look(page);
  const others = {};
  for (const [page, path, anchor] of wanted) {
    const target = path === "" ? "index.html" : path;
    if (anchors[target]) {
      if (anchor && !anchors[target].has(anchor)) problems.push(page + ": no anchor " + target + "#" + anchor);
      continue;
    }
    others[target] ??= (await fetch("/" + target)).ok;
    if (!others[target]) problems.push(page + ": broken link " + target);
  }
  await search("barrier");
  await fetch("/done", {method: "POST", body: JSON.stringify({pages: pages.length, links: wanted.length, problems})});
})().catch(error => fetch("/done", {method: "POST", body: JSON.stringify({pages: 0, links: 0, problems: [String(error)]})}));
</script>"""


def main(folder):
    pages = sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*.html") if p.name != "404.html")
    result, ready = {}, threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/check":
                return super().do_GET()
            body = CHECKER.replace("PAGES", json.dumps(pages)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            result.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            ready.set()

        def log_message(self, *_):
            pass

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        sys.exit("check.py: chromium is missing, run hack/install-debian.sh docs")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # Processes of the browser may still write to the profile after the first one has exited.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            process = subprocess.Popen(
                [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + profile,
                 f"http://127.0.0.1:{server.server_port}/check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ready.wait(LIMIT)
            process.kill()
            process.wait()
        server.shutdown()
    if not result:
        sys.exit(f"check.py: the browser did not finish within {LIMIT} s")
    for problem in result["problems"]:
        print(problem)
    print(f'{result["pages"]} pages, {result["links"]} links, {len(result["problems"])} problems')
    sys.exit(1 if result["problems"] or not result["pages"] else 0)


if __name__ == "__main__":
    main(sys.argv[1])
