package apps_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// patience is how long the browser has for one thing on a machine with much to do.
const patience = 2 * time.Minute

// browser is Chromium, started once for all tests.
var (
	browserContext context.Context
	closeBrowser   = func() {}
	browser        = sync.OnceValue(func() error {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))
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

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// shown is a view in the page of a host.
type shown struct {
	t       *testing.T
	ctx     context.Context
	session *host.Session
	page    string       // the origin of the host's page
	asked   atomic.Int64 // requests to the host's page by whoever is not the page

	mu       sync.Mutex                    // guards the fields below
	console  []string                      // errors
	contexts []runtime.ExecutionContextID  // of frames in the page's process
	frames   map[target.ID]context.Context // in processes of their own
}

// show shows a view: its document and what its server says of it.
func show(t *testing.T, view *apps.View, server host.Server, opts *host.Options, wild bool) *shown {
	t.Helper()
	page := listen(t)
	s := newShown(t, page)
	s.begin(page, s.sandbox(view, wild), "", view, server, opts)
	return s
}

// begin begins a session with a view, and opens the host's page. loose is a page instead of the sandbox, see [showLoose].
func (s *shown) begin(page net.Listener, frame sandbox.Frame, loose string, view *apps.View, server host.Server, opts *host.Options) {
	t := s.t
	t.Helper()
	transport, conn := mcpclient.Pipe()
	toView, err := transport.Dial(t.Context())
	check.Must(t, err)
	if opts == nil {
		opts = &host.Options{}
	}
	opts.CSP, opts.Permissions = frame.CSP, frame.Permissions
	s.session, err = host.Open(t.Context(), conn, server, opts)
	check.Must(t, err)
	serve(t, page, s.hostPage(frame, loose, view, toView))
	t.Cleanup(func() { _ = toView.Close(); <-s.session.Done() })
	s.open()
}

// newShown starts Chromium, once.
func newShown(t *testing.T, page net.Listener) *shown {
	t.Helper()
	if err := browser(); err != nil {
		t.Fatal("start Chromium:", err)
	}
	return &shown{t: t, page: "http://" + page.Addr().String(), frames: map[target.ID]context.Context{}}
}

// sandbox serves the sandbox of a view.
func (s *shown) sandbox(view *apps.View, wild bool) sandbox.Frame {
	s.t.Helper()
	box := listen(s.t)
	origin := "http://" + box.Addr().String()
	if wild {
		_, port, _ := net.SplitHostPort(box.Addr().String())
		origin = "http://*.localhost:" + port
	}
	sandboxed, err := sandbox.New(&sandbox.Options{Origin: origin, HostOrigins: []string{s.page}, AllowPrivate: true})
	check.Must(s.t, err)
	frame, err := sandboxed.Frame(view.Meta, sandbox.FrameOptions{Server: "s"})
	check.Must(s.t, err)
	serve(s.t, box, sandboxed)
	return frame
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	return check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
}

func serve(t *testing.T, l net.Listener, h http.Handler) {
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
}

// hostPage serves the page of the host, which carries messages between the view and the session.
func (s *shown) hostPage(frame sandbox.Frame, loose string, view *apps.View, toView transport.Conn) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if loose == "" {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-src "+frame.Origin)
		}
		s.fill(w, "testdata/host.html", "VIEW", frame, "DOCUMENT", string(view.HTML), "LOOSE", loose != "")
	})
	mux.HandleFunc("GET /loose", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, loose)
	})
	mux.HandleFunc("/taken", func(http.ResponseWriter, *http.Request) { s.asked.Add(1) })
	mux.HandleFunc("POST /view", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		for _, message := range bytes.Split(raw, []byte("\n")) {
			if err == nil {
				err = toView.Send(r.Context(), message)
			}
		}
		if err != nil {
			http.Error(w, "no session", http.StatusGone)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /host", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			raw, err := toView.Recv()
			if err != nil {
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", bytes.ReplaceAll(raw, []byte("\n"), nil))
			_ = http.NewResponseController(w).Flush()
		}
	})
	return mux
}

// fill writes a page, with values in JSON instead of words.
func (s *shown) fill(w io.Writer, page string, words ...any) {
	source, err := os.ReadFile(page)
	check.NoError(s.t, err)
	var pairs []string
	for i := 0; i < len(words); i += 2 {
		value, err := json.Marshal(words[i+1])
		check.NoError(s.t, err)
		pairs = append(pairs, words[i].(string), string(value))
	}
	_, _ = strings.NewReplacer(pairs...).WriteString(w, string(source))
}

func (s *shown) open() {
	s.t.Helper()
	ctx, cancel := chromedp.NewContext(browserContext, chromedp.WithNewBrowserContext())
	s.ctx = ctx
	s.t.Cleanup(func() {
		// A page that floods must be quiet before nobody reads its events: chromedp waits forever for room for them.
		leave, stop := context.WithTimeout(ctx, patience)
		defer stop()
		_, _ = chromedp.Run(leave, chromedp.Steps(chromedp.Navigate("about:blank")))
		cancel()
	})
	check.Must(s.t, chromedp.Listen(ctx, s.listen))
	check.Must(s.t, check.Err(chromedp.Call(ctx, log.Enable, cdp.Empty{})))
	run, stop := context.WithTimeout(ctx, patience)
	defer stop()
	check.Must(s.t, check.Err(chromedp.Run(run, chromedp.Steps(chromedp.Navigate(s.page)))))
}

func (s *shown) listen(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExecutionContextCreated:
		s.contexts = append(s.contexts, e.Context.ID)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			text := "console:"
			for _, a := range e.Args {
				text += " " + string(a.Value) + a.Description
			}
			s.console = append(s.console, text)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description
		}
		s.console = append(s.console, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "410 (Gone)") { // a view says something after the end
			s.console = append(s.console, e.Entry.Text)
		}
	}
}

// errors are what the consoles of the page and of all its frames complained of.
func (s *shown) errors() []string {
	_, _ = inFrames[bool](s, "undefined") // hears the frames that it has not heard yet, from their beginning
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.console)
}

// eval is the value of an expression in the host's page.
func eval[T any](s *shown, expression string) T {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	check.Must(s.t, err)
	return out
}

// ready waits until the view has begun.
func (s *shown) ready() {
	s.t.Helper()
	select {
	case <-s.session.Ready():
	case <-s.session.Ended():
		s.t.Fatalf("the session has ended: %v, console %q", s.session.Err(), s.errors())
	case <-time.After(patience):
		s.t.Fatalf("the view does not begin, console %q, heard %s", s.errors(), eval[string](s, "JSON.stringify(heard)"))
	}
}

func (s *shown) await(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s; console %q", what, s.errors())
		}
	}
}

// inView is the value of an expression in the document of a view, in which mark, an expression, is true. It
// waits for such a document. Chromium may run a frame in a process of its own, or in the page's.
func inView[T any](s *shown, mark, expression string) T {
	s.t.Helper()
	guarded := fmt.Sprintf("(async () => { if (!(%s)) return undefined; return { is: await (%s) }; })()", mark, expression)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if out, ok := inFrames[T](s, guarded); ok {
			return out
		}
		if time.Now().After(end) {
			s.t.Fatalf("no view in which %s; console %q", mark, s.errors())
		}
	}
}

// inFrames is the value of an expression in the first frame that has one.
func inFrames[T any](s *shown, expression string) (out T, ok bool) {
	s.mu.Lock()
	contexts := slices.Clone(s.contexts)
	s.mu.Unlock()
	for _, id := range contexts {
		if out, ok = evaluate[T](s.ctx, expression, id); ok {
			return out, true
		}
	}
	infos, err := chromedp.Targets(s.ctx)
	check.Must(s.t, err)
	for _, info := range infos {
		if info.Type != "iframe" || info.BrowserContextID != chromedp.FromContext(s.ctx).BrowserContextID {
			continue
		}
		s.mu.Lock()
		frame := s.frames[info.TargetID]
		s.mu.Unlock()
		if frame == nil {
			frame, _ = chromedp.NewContext(s.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithListener(s.listen)) // ends with the window
			if chromedp.Do(frame) != nil {                                                                               // attaches for as long as the window lasts
				continue
			}
			if _, err := chromedp.Call(frame, log.Enable, cdp.Empty{}); err != nil {
				continue
			}
			s.mu.Lock()
			s.frames[info.TargetID] = frame
			s.mu.Unlock()
		}
		if out, ok = evaluate[T](frame, expression, 0); ok {
			return out, true
		}
	}
	return out, false
}

// evaluate is the value of an expression in a context, 0 for the target's own.
func evaluate[T any](ctx context.Context, expression string, id runtime.ExecutionContextID) (out T, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: id, AwaitPromise: &yes, ReturnByValue: &yes})
	if err != nil || res.ExceptionDetails != nil || res.Result == nil {
		return out, false // the frame has gone
	}
	var value struct{ Is *T }
	if json.Unmarshal(res.Result.Value, &value) != nil || value.Is == nil {
		return out, false
	}
	return *value.Is, true
}
