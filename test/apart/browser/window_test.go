package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"seckill/internal/testkit/server"
)

// patience limits every wait for a page; a busy machine may need many seconds.
const patience = 3 * time.Minute

// device is a user's browser: its window and settings.
type device struct {
	name          string // in names of tests and pictures
	width, height int64  // CSS pixels
	touch         bool
	language      string // as browsers send it; "" is English
	dark          bool
	slow          bool   // 200 kbit/s, and 400 ms until an answer begins
	zone          string // IANA's name; "" is the machine's
	script        string // runs before the page's own, in every document
}

// The devices that the tests use.
func phone() device   { return device{name: "phone", width: 390, height: 844, touch: true} }
func desktop() device { return device{name: "desktop", width: 1280, height: 900} }

func (d device) in(language string) device { d.language = language; return d }
func (d device) at(zone string) device     { d.zone = zone; return d }
func (d device) inDark() device            { d.dark = true; return d }

// window is a tab of the browser, of an empty profile at first.
type window struct {
	tb     testing.TB
	ctx    context.Context //nolint:containedctx // chromedp represents the browser by a context
	device device

	mu       sync.Mutex
	requests []string // method and path of each request
	errors   []string // of the console
}

// browser is the Chromium shared by all tests of this process. Each window has its own profile.
var browser struct {
	once sync.Once
	ctx  context.Context //nolint:containedctx // chromedp represents the browser by a context
	stop func() error
	err  error
}

// startBrowser starts the browser, which ends with the process unless stopBrowser ends it earlier.
func startBrowser() {
	program, err := server.ChromiumProgram(context.Background())
	if err != nil {
		browser.err = err
		return
	}
	profile, err := os.MkdirTemp("", "seckill-browser")
	if err != nil {
		browser.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		chromedp.UserDataDir(profile), chromedp.Flag("lang", "en-GB"), chromedp.WSURLReadTimeout(2*patience),
		chromedp.Flag("no-proxy-server", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx = ctx //nolint:fatcontext // it is set once
	browser.stop = func() error {
		err := chromedp.Cancel(ctx)
		cancel()
		stopAllocator()
		return errors.Join(err, os.RemoveAll(profile))
	}
	// Starts it; without a timeout, because the browser lives as long as this context.
	if err := chromedp.Do(ctx); err != nil {
		browser.err = fmt.Errorf("starting the browser: %w", err)
	}
}

// stopBrowser ends the browser, if there is one.
func stopBrowser() error {
	if browser.stop == nil {
		return nil
	}
	return browser.stop()
}

// open opens the address in a window with its own profile.
func open(tb testing.TB, address string, d device) *window {
	tb.Helper()
	browser.once.Do(startBrowser)
	if browser.err != nil {
		tb.Fatal(browser.err)
	}
	return openTab(tb, browser.ctx, address, d, chromedp.WithNewBrowserContext())
}

// tab opens the address in another tab of the same browser.
func (w *window) tab(address string) *window {
	w.tb.Helper()
	return openTab(w.tb, w.ctx, address, w.device)
}

// openTab opens the address in a new tab of the parent's profile, or of a new one.
func openTab(
	tb testing.TB, parent context.Context, address string, d device, profile ...chromedp.ContextOption,
) *window {
	tb.Helper()
	ctx, cancel := chromedp.NewContext(parent, profile...)
	w := &window{tb: tb, ctx: ctx, device: d}
	tb.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // ends the tab, and the profile with its first one
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range w.errors {
			tb.Errorf("on the console: %s", e)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // without a timeout, because the tab lives as long as this context
		tb.Fatalf("opening a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, w.onEvent); err != nil {
		tb.Fatalf("listening to the browser: %v", err)
	}
	w.do(w.emulate())
	w.visit(address)
	return w
}

// emulate sets the window's size, language and colours, and gives it the focus for good: otherwise only one of several
// windows has it, and the keys that another gets before it has the focus are lost.
func (w *window) emulate() chromedp.Action[chromedp.Void] {
	d := w.device
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		size := emulation.SetDeviceMetricsOverrideParams{
			Width: d.width, Height: d.height, DeviceScaleFactor: 1, Mobile: d.touch,
		}
		if _, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, size); err != nil {
			return err
		}
		focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
		if _, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, focus); err != nil {
			return err
		}
		scheme := "light"
		if d.dark {
			scheme = "dark"
		}
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}
		if _, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media); err != nil {
			return err
		}
		if d.language != "" {
			agent := emulation.SetUserAgentOverrideParams{
				UserAgent: "Mozilla/5.0 (X11; Linux x86_64) Chrome", AcceptLanguage: d.language,
			}
			if _, err := cdp.Call(ctx, t, emulation.SetUserAgentOverride, agent); err != nil {
				return err
			}
		}
		if d.zone != "" {
			zone := emulation.SetTimezoneOverrideParams{TimezoneID: d.zone}
			if _, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, zone); err != nil {
				return err
			}
		}
		if d.slow {
			slow := network.Conditions{Latency: 400, DownloadThroughput: 200_000 / 8, UploadThroughput: 200_000 / 8}
			params := network.EmulateNetworkConditionsByRuleParams{
				MatchedNetworkConditions: []*network.Conditions{&slow},
			}
			if _, err := cdp.Call(ctx, t, network.EmulateNetworkConditionsByRule, params); err != nil {
				return err
			}
		}
		if d.script == "" {
			return nil
		}
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: d.script})
		return err
	})
}

// onEvent records the page's requests and errors. The browser logs a refused request as an error, but that is not an
// error of the page.
func (w *window) onEvent(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		path := e.Request.URL
		if i := strings.Index(path, "://"); i >= 0 {
			if _, rest, ok := strings.Cut(path[i+3:], "/"); ok {
				path = "/" + rest
			}
		}
		w.requests = append(w.requests, e.Request.Method+" "+path)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && e.Entry.Source != "network" {
			w.errors = append(w.errors, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		w.errors = append(w.errors, fmt.Sprintf("%s:%d: %s", d.URL, d.LineNumber, d.Text))
		if d.Exception != nil {
			w.errors = append(w.errors, d.Exception.Description)
		}
	}
}

// purchases returns how often the page has sent a purchase.
func (w *window) purchases() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.requests {
		if strings.HasPrefix(r, "POST /voucher/seckill/") && !strings.HasSuffix(r, "/ticket") {
			n++
		}
	}
	return n
}

// do performs steps on the page, or fails the test.
func (w *window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		w.tb.Fatalf("%v\nthe page shows:\n%s", err, w.text())
	}
}

// evaluate returns the value of an expression on the page.
func evaluate[T any](w *window, expression string) T {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.tb.Fatalf("%s: %v", expression, err)
	}
	return v
}

// visit opens an address, anew if the page is there already: a browser loads nothing for the same fragment.
func (w *window) visit(address string) {
	w.tb.Helper()
	w.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		been, err := chromedp.NavigationEntries()(ctx, target)
		if err != nil {
			return chromedp.Void{}, err
		}
		load := chromedp.Navigate(address)
		if been.Entries[been.CurrentIndex].URL == address {
			load = chromedp.Reload()
		}
		return load(ctx, target)
	})
}

// until waits until an expression is true on the page.
func (w *window) until(expression string) {
	w.tb.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			w.tb.Fatalf("%s never became true (%v)\nthe page shows:\n%s", expression, err, w.text())
		}
		time.Sleep(30 * time.Millisecond) // between two polls of another process
	}
}

// sees waits until the element shows the text; "" for any.
func (w *window) sees(selector, text string) {
	w.tb.Helper()
	w.until(fmt.Sprintf("Array.from(document.querySelectorAll(%s)).some(e => e.checkVisibility() && "+
		"e.innerText.includes(%s))", quoted(selector), quoted(text)))
}

// seesNo waits until no element matches the selector.
func (w *window) seesNo(selector string) {
	w.tb.Helper()
	w.until(fmt.Sprintf("document.querySelector(%s) === null", quoted(selector)))
}

// click clicks an element as soon as it is there.
func (w *window) click(selector string) {
	w.tb.Helper()
	w.sees(selector, "")
	w.onElement(chromedp.Click(chromedp.CSS(selector)))
}

// press clicks an element that a live page may move at any moment. It checks that a click would hit the element's
// middle, and clicks, before the page can draw anything else.
func (w *window) press(selector string) {
	w.tb.Helper()
	w.until(fmt.Sprintf(`(e => {
  if (!e?.checkVisibility()) return false;
  e.scrollIntoView({ block: 'nearest' });
  const at = e.getBoundingClientRect();
  if (!e.contains(document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2))) return false;
  e.focus();
  e.click();
  return true; })(document.querySelector(%s))`, quoted(selector)))
}

// enter types into a field.
func (w *window) enter(selector, text string) {
	w.tb.Helper()
	w.onElement(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// onElement performs a step on an element. If the page replaces the element between the search and the first event, it
// starts the step again, because nothing has been done yet. Chromium's error code for this also covers failures after
// an event, so the error text decides.
func (w *window) onElement(step chromedp.Action[chromedp.Void]) {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	for {
		err := chromedp.Do(ctx, step)
		if err == nil {
			return
		}
		var gone *cdproto.Error
		if !errors.As(err, &gone) || !strings.Contains(gone.Message, "node with given id") || ctx.Err() != nil {
			w.tb.Fatalf("%v\nthe page shows:\n%s", err, w.text())
		}
	}
}

// keys presses keys on the element that has the focus.
func (w *window) keys(keys string) {
	w.tb.Helper()
	w.do(chromedp.KeyEvent(keys))
}

// choose chooses a value in a <select>.
func (w *window) choose(selector, value string) {
	w.tb.Helper()
	evaluate[bool](w, fmt.Sprintf(`(() => { const s = document.querySelector(%s); s.value = %s; s.dispatchEvent(new `+
		`Event('change', {bubbles: true})); return true; })()`,
		quoted(selector), quoted(value)))
}

// text returns the text of the page.
func (w *window) text() string {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// accessible fails the test for each violation that axe-core finds on the page, and for each number without separators.
func (w *window) accessible() {
	w.tb.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		w.tb.Fatal(err)
	}
	w.until("document.querySelector('h1')?.checkVisibility()") // a page that has just been opened waits for its data
	found := evaluate[string](w, string(source)+`;
axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v => ({
  id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => n.target.join(' ') + ': ' + n.failureSummary)}))))`)
	var violations []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		w.tb.Fatal(err)
	}
	for _, v := range violations {
		w.tb.Errorf("axe, %s, %s: %s\n%s", v.Impact, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
	}
	w.grouped()
}

// quoted returns a text as a JavaScript literal.
func quoted(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(b)
}
