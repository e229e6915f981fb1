#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""page_visit.py FOLDER URL TUNNEL: visits the page as a person does, and prints steps. Between its lines "tunnel is up"
and "tunnel fails" the caller lets the tunnel fail."""
import os
import struct
import sys
import zlib

from page_browser import Browser

FOLDER, URL, TUNNEL = sys.argv[1:]
HOSTILE = "<img src=x onerror=window.hacked=1>"


def colours(path):
    """How many different colours a picture has: in PNG of 8 bits and no interlace, one of 16 rows is enough."""
    with open(path, "rb") as file:
        data = file.read()
    position, idat, header = 8, b"", None
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position:position + 8])
        body = data[position + 8:position + 8 + length]
        header = struct.unpack(">IIBB", body[:10]) if kind == b"IHDR" else header
        idat += body if kind == b"IDAT" else b""
        position += length + 12
    size = {2: 3, 6: 4}[header[3]]
    raw, stride = zlib.decompress(idat), header[0] * size + 1
    return len({raw[k:k + size] for row in range(0, header[1], 16)
                for k in range(row * stride + 1, (row + 1) * stride, size)})


def check(what, is_so, seen=""):
    print(what, flush=True)
    assert is_so, f"{what}: {seen}"


def visit(browser):
    browser.ask("Page.navigate", url=URL)
    browser.poll("document.querySelectorAll('#rates polyline').length >= 2")
    drawn = "[...document.querySelectorAll('polyline')].every(line => line.getBoundingClientRect().width > 0)"
    browser.poll("[...document.querySelectorAll('polyline')].every(line => line.getAttribute('points') !== '')")
    check("lines are drawn from the first rate on", browser.value(drawn))
    check("ports", browser.value("document.querySelectorAll('#ports tbody tr').length") == 2)
    picture = os.path.join(FOLDER, "page.png")
    browser.screenshot(picture)
    check("screenshot is not blank", colours(picture) > 20, colours(picture))


def explain(browser):
    browser.poll("document.querySelector('#drops details') !== null")
    explanation = "document.querySelector('#drops details p:last-child').checkVisibility()"
    check("explanation is hidden", not browser.value(explanation))
    browser.click("#drops summary")
    browser.poll(explanation)
    browser.value("document.querySelector('#drops summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
                    if kind == "keyDown" else "")
    browser.poll("!" + explanation)
    print("explanation by mouse and keyboard", flush=True)


def search(browser):
    browser.value(f"document.getElementById('name').value = {TUNNEL!r}")
    browser.click("#search button")
    check("a button without effect looks so", browser.value(
        "getComputedStyle(document.querySelector('#more')).color !== getComputedStyle(document.body).color"))
    browser.poll(f"[...document.querySelectorAll('#found td')].some(cell => cell.textContent === {TUNNEL!r})")
    browser.value("document.getElementById('name').value = 'x,=y'")
    browser.click("#search button")
    browser.poll("document.querySelector('#found .bad') !== null")
    print("search", flush=True)


def watch(browser):
    browser.poll("document.getElementById('worst').textContent === 'Every tunnel is up.'")
    print("tunnel is up", flush=True)
    browser.poll("[...document.querySelectorAll('#tunnel-rates .legend')].length == 2 && "
                 "[...document.querySelectorAll('#tunnel-rates .legend span')].every(line => "
                 f"line.textContent.startsWith({TUNNEL!r}) && !line.textContent.startsWith('{TUNNEL} 0'))")
    print("rates of the tunnel", flush=True)
    browser.poll(f"[...document.querySelectorAll('#worst td')].some(cell => cell.textContent === {TUNNEL!r})")
    print("tunnel fails", flush=True)


def attack(browser):
    """Names of peers in every place that text comes from."""
    images, shown = browser.value(f"""(async () => {{ const bad = {HOSTILE!r}, s = await get("status.json");
        const replaced = v => typeof v === "string" ? bad : Array.isArray(v) ? v.map(replaced)
          : v && typeof v === "object" ? Object.fromEntries(Object.entries(v).map(([k, e]) => [k, replaced(e)])) : v;
        show({{ ...replaced(s), drop_rates: {{ [bad]: [1, 2] }}, port_rates: {{ [bad]: {{ [bad]: [1] }} }} }});
        return [document.querySelectorAll("main img").length, document.getElementById("worst").textContent.includes(bad)];
        }})()""")
    check("names are text", images == 0 and shown, (images, shown))
    check("no script ran", browser.value("window.hacked") is None)


def small(browser, scheme):
    browser.ask("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    check("fits 360 pixels, " + scheme, browser.value("document.documentElement.scrollWidth") <= 360,
          browser.value("document.documentElement.scrollWidth"))
    browser.screenshot(os.path.join(FOLDER, scheme + ".png"))


def contrast(browser):
    """WCAG 2.2, 1.4.3: text has a contrast of 4.5 or more."""
    worst = browser.value("""(() => { const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255)
          .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
        const back = e => { const c = getComputedStyle(e).backgroundColor;
          return c !== "rgba(0, 0, 0, 0)" ? c : e.parentElement ? back(e.parentElement) : "rgb(255, 255, 255)"; };
        return Math.min(...[...document.querySelectorAll("h1, h2, p, td, th, span, summary, label, button")].map(e => {
          const [a, b] = [light(getComputedStyle(e).color), light(back(e))].sort((x, y) => y - x);
          return (a + .05) / (b + .05); })); })()""")
    check("contrast", worst >= 4.5, worst)


def without_javascript(browser):
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.ask("Page.navigate", url=URL)
    browser.poll("document.querySelector('noscript p') !== null")
    print("a sentence without JavaScript", flush=True)


def judge(browser):
    urls = {event["params"]["request"]["url"] for event in browser.events
            if event.get("method") == "Network.requestWillBeSent"}
    check("nothing from elsewhere", all(url.startswith((URL, "data:")) for url in urls), urls)
    bad = [event for event in browser.events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    check("no violation, no error", not bad, bad)


def main():
    profile = os.path.join(FOLDER, "profile")
    os.mkdir(profile)
    browser = Browser(profile)
    visit(browser)
    explain(browser)
    search(browser)
    watch(browser)
    for scheme in ("light", "dark"):
        small(browser, scheme)
        contrast(browser)
    attack(browser)
    without_javascript(browser)
    judge(browser)
    browser.end()


main()
