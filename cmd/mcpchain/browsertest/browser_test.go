package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// browser is Chromium, started once for all tests.
var (
	browserContext context.Context
	closeBrowser   = func() {}
	browser        = sync.OnceValue(func() error {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.NoSandbox, chromedp.Env("TZ=UTC"), chromedp.WSURLReadTimeout(patience), chromedp.Flag("lang", "en-GB"),
			chromedp.Flag("host-resolver-rules", "MAP page.test 127.0.0.1"))
		allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(allocator)
		browserContext = ctx
		closeBrowser = func() {
			cancel()
			cancelAllocator()
		}
		return chromedp.Do(ctx)
	})
)

// person has a browser with cookies of their own, and one window.
type person struct {
	t       *testing.T
	ctx     context.Context
	program *program

	frames map[target.ID]context.Context // in processes of their own

	mu       sync.Mutex // guards the fields below
	errors   []string
	contexts []runtime.ExecutionContextID // of frames in the page's process
	expected []string                     // texts of failed requests
}

// enter starts the program and has Ada visit its page, in parallel with other tests.
func enter(t *testing.T, args ...string) *person {
	t.Helper()
	t.Parallel()
	return visit(t, start(t, args...), "Ada")
}

// beside has another person visit the page.
func (w *person) beside(name string) *person { return visit(w.t, w.program, name) }

func (w *person) another() *person { return open(w.t, w.program, w) }

func visit(t *testing.T, p *program, name string) *person {
	t.Helper()
	w := open(t, p, nil)
	w.click("#names button", name)
	w.see("#user", name)
	return w
}

// open opens a window: in the browser of a person, or in a new one.
func open(t *testing.T, p *program, of *person) *person {
	t.Helper()
	if err := browser(); err != nil {
		t.Fatal("start Chromium:", err)
	}
	w := &person{t: t, program: p, frames: map[target.ID]context.Context{}}
	var cancel context.CancelFunc
	if of == nil {
		w.ctx, cancel = chromedp.NewContext(browserContext, chromedp.WithNewBrowserContext())
	} else {
		w.ctx, cancel = chromedp.NewContext(of.ctx, chromedp.WithExistingBrowserContext(chromedp.FromContext(of.ctx).BrowserContextID))
	}
	t.Cleanup(func() {
		w.mu.Lock()
		for _, text := range w.errors {
			t.Errorf("the console says: %s", text)
		}
		w.mu.Unlock()
		cancel()
	})
	check.Must(t, chromedp.Listen(w.ctx, w.listen)) // opens the window, which lives as long as its context
	check.Must(t, check.Err(chromedp.Call(w.ctx, log.Enable, cdp.Empty{})))
	w.do(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(p.url))
	return w
}

func (w *person) listen(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			w.errors = append(w.errors, fmt.Sprint(e.Args))
		}
	case *runtime.EventExecutionContextCreated:
		w.contexts = append(w.contexts, e.Context.ID)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description
		}
		w.errors = append(w.errors, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !w.isExpected(e.Entry) {
			w.errors = append(w.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// expectErrors has the test take the browser's reports of failed requests until a function is called, and those before:
// with a text such as "422" or "net::ERR".
func (w *person) expectErrors(texts ...string) (until func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = texts
	w.errors = slices.DeleteFunc(w.errors, func(report string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(report, text) })
	})
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.expected = nil
	}
}

// isExpected reports whether a report is one that the test wants, says that the address is without
// HTTPS, or is of a message that was on its way when its view ended. The mutex is held.
func (w *person) isExpected(e *log.Entry) bool {
	if strings.HasPrefix(e.Text, "The Cross-Origin-Opener-Policy header has been ignored, because") ||
		strings.Contains(e.Text, "404") && strings.Contains(e.URL, "/api/views/") && strings.HasSuffix(e.URL, "/messages") {
		return true
	}
	return e.Source == log.EntrySourceNetwork && slices.ContainsFunc(w.expected, func(text string) bool { return strings.Contains(e.Text, text) })
}

func (w *person) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	value(w, chromedp.Steps(actions...))
}

func value[T any](w *person, action chromedp.Action[T]) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	return check.Value(chromedp.Run(ctx, action))(w.t)
}

func eval[T any](w *person, format string, args ...any) T {
	w.t.Helper()
	quoted := make([]any, len(args))
	for i, a := range args {
		quoted[i] = string(check.Value(json.Marshal(a))(w.t))
	}
	return value(w, chromedp.Evaluate[T](fmt.Sprintf(format, quoted...), chromedp.EvalAwaitPromise))
}

func (w *person) await(format string, args ...any) {
	w.t.Helper()
	w.awaitFor(patience, format, args...)
}

// awaitFor waits until an expression is true, with a patience of its own.
func (w *person) awaitFor(patience time.Duration, format string, args ...any) {
	w.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](w, format, args...); {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain for %s %q; the page says:\n%s", format, args, eval[string](w, "document.body.innerText.slice(0, 4000)"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *person) see(selector string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.await("[...document.querySelectorAll(%s)].some(n => n.checkVisibility() && n.innerText.includes(%s))", selector, text)
	}
}

// seeAll is see for pairs of a selector and a text.
func (w *person) seeAll(pairs []string) {
	w.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		w.see(pair[0], pair[1])
	}
}

// gone waits until no element of the selector is shown.
func (w *person) gone(selector string) {
	w.t.Helper()
	w.await("![...document.querySelectorAll(%s)].some(n => n.checkVisibility())", selector)
}

// click waits for an element with a text that a pointer can reach, and clicks it. What is to be seen then follows:
// pairs of a selector and a text.
func (w *person) click(selector, text string, then ...string) {
	w.t.Helper()
	const click = `(() => {
		const n = [...document.querySelectorAll(%s)].find(n => n.checkVisibility() && n.innerText.trim().includes(%s));
		if (!n || n.disabled || n.ariaDisabled === "true") return false;
		n.scrollIntoView({ block: "nearest" });
		const { x, y, width, height } = n.getBoundingClientRect();
		const hit = document.elementFromPoint(x + width / 2, y + height / 2);
		if (!n.contains(hit)) return false; // something covers it
		n.focus();
		n.click();
		return true;
	})()`
	w.await(click, selector, text)
	w.seeAll(then)
}

// ask asks a question. What is to be seen then follows, as for click.
func (w *person) ask(text string, then ...string) {
	w.t.Helper()
	w.do(chromedp.SendKeys(chromedp.CSS("#question"), text))
	w.click("#send", "Send", then...)
}

// allow asks for a call of a tool, and allows it. What is to be seen then follows, as for click.
func (w *person) allow(call string, then ...string) {
	w.t.Helper()
	w.ask(call)
	w.click(".card.approval button", "Allow", then...)
}

// fill writes into fields of the last card: pairs of a label and a value.
func (w *person) fill(pairs ...string) {
	w.t.Helper()
	const set = `(() => {
		const fields = [...document.querySelectorAll(".card .field, .card .pair")];
		const field = fields.find(f => f.querySelector("label, legend").textContent.startsWith(%s));
		const input = field.querySelector("input, select, textarea");
		const changed = (n) => { for (const e of ["input", "change"]) n.dispatchEvent(new Event(e, { bubbles: true })); };
		input.focus();
		if (field.tagName === "FIELDSET") {
			for (const box of field.querySelectorAll("input")) {
				if (box.checked !== %s.split(",").includes(box.nextSibling.textContent)) box.click();
			}
			return true;
		}
		if (input.tagName === "SELECT") {
			input.value = [...input.options].find(o => o.text === %[2]s).value;
			changed(input);
			return true;
		}
		input.value = %[2]s;
		changed(input);
		return true;
	})()`
	for pair := range slices.Chunk(pairs, 2) {
		check.Require(w.t, eval[bool](w, set, pair[0], pair[1]), "no field %q", pair[0])
	}
}

// shoot takes a picture for a person to look at, if WEB_SHOTS names a folder.
func (w *person) shoot(name string) {
	w.t.Helper()
	dir := os.Getenv("WEB_SHOTS")
	if dir == "" {
		return
	}
	png := value(w, chromedp.CaptureScreenshot())
	check.Must(w.t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png"), png, 0o644))
}

func (w *person) prefer(scheme string) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	check.Must(w.t, err)
}

func (w *person) narrow() { w.do(chromedp.EmulateViewport(390, 760)) }
func (w *person) wide()   { w.do(chromedp.EmulateViewport(1280, 860)) }

// axe is the source of axe-core, which finds what keeps people from using a page.
var axe struct {
	sync.Once
	source string
}

func loadAxe(t *testing.T) string {
	t.Helper()
	axe.Do(func() {
		data, err := os.ReadFile(testenv.InstallNPM(t, os.DirFS("testdata/npm")).Module("axe-core/axe.min.js"))
		if err != nil {
			t.Fatal(err) // the tests after this one fail below
		}
		axe.source = string(data)
	})
	check.Require(t, axe.source != "", "there is no axe-core; the first test that needs it says why")
	return axe.source
}

// accessible has axe find no serious violation in what the page shows, in light and dark, and takes a picture.
func (w *person) accessible(state string) {
	w.t.Helper()
	w.shoot(state)
	if !eval[bool](w, "'axe' in window") {
		value(w, chromedp.Evaluate[chromedp.Void](loadAxe(w.t)))
	}
	for _, scheme := range []string{"light", "dark"} {
		w.prefer(scheme)
		found := eval[[]string](w, `axe.run().then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical")
			.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")))`)
		check.That(w.t, len(found) == 0, "%s, %s: %s", state, scheme, strings.Join(found, "\n"))
	}
	w.prefer("light")
}
