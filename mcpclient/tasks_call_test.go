package mcpclient_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// worker is a peer whose tool calls become the task "k", in either era. A test may use its
// fields while the worker waits: before the first call, and after [synctest.Wait].
type worker struct {
	*peer
	polls    int           // number of polls until the task ends; negative for never
	end      string        // its status then
	lag      time.Duration // delay of each answer
	output   string        // structured content of the result
	progress bool          // sends progress after every message
	silent   bool          // answers only the call

	token json.RawMessage
	seen  []message
}

// work answers until the client ends.
func (w *worker) work() {
	for m := range w.inbox {
		w.seen = append(w.seen, m)
		time.Sleep(w.lag)
		switch {
		case m.Method == "tools/call":
			w.token = m.ID
			const state = `"taskId":"k","status":"working","pollInterval":1000,"pollIntervalMs":1000`
			w.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"task",%s,"task":{%s}}}`, m.ID, state, state)
		case m.ID == nil || w.silent:
		default:
			w.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, w.answer(m))
		}
		if w.progress {
			w.tell(len(w.seen))
		}
	}
}

// tell sends progress with the token of the call, which is also that of its task.
func (w *worker) tell(progress int) {
	w.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, w.token, progress)
}

func (w *worker) answer(m message) string {
	result := `{"content":[{"type":"text","text":"done"}],"structuredContent":` + w.output + `}`
	status := "working"
	if m.Method == "tasks/result" {
		return result
	}
	if w.polls--; w.polls == -1 {
		status = w.end
	}
	return fmt.Sprintf(`{"taskId":"k","status":%q,"pollInterval":1000,"pollIntervalMs":1000,"result":%s}`, status, result)
}

func (w *worker) methods() (all []string) {
	for _, m := range w.seen {
		all = append(all, m.Method)
	}
	return all
}

// cancelled checks whether the server was asked to cancel the task.
func (w *worker) cancelled(t *testing.T, want bool) {
	t.Helper()
	synctest.Wait()
	got := slices.ContainsFunc(w.seen, func(m message) bool { return m.Method == "tasks/cancel" && m.Params.TaskID == "k" })
	check.That(t, got == want, "got the requests %q, want tasks/cancel %v", w.methods(), want)
}

// working runs f in both eras with a client of a worker.
func working(t *testing.T, set func(*mcpclient.Options), f func(t *testing.T, c *mcpclient.Client, w *worker)) {
	t.Helper()
	for name, opts := range eras() {
		opts.Protocol.AllowUndeclared = true
		set(&opts)
		t.Run(name, func(t *testing.T) {
			inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				w := &worker{peer: p, output: `{"n":1}`, end: "completed"}
				go w.work()
				f(t, c, w)
			})
		})
	}
}

func noChange(*mcpclient.Options) {}

func TestWithTask(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		w.polls, w.progress = 3, true
		start := time.Now()
		var heard []float64
		progress := mcpclient.WithProgress(func(p mcp.Progress) { heard = append(heard, p.Progress) })
		callText(t, t.Context(), c, "slow", "done", mcpclient.WithTask(slow), progress)
		check.Equal(t, "took", time.Since(start), 3*time.Second)
		want := []float64{1, 2, 3, 4}
		check.That(t, len(heard) >= len(want) && slices.Equal(heard[:len(want)], want), "got the progress %v, want at least %v", heard, want)
		synctest.Wait()
		for _, m := range w.seen[1:] {
			check.That(t, !strings.Contains(string(m.Params.Meta), "progressToken"),
				"got %s with the _meta %s, want one token for the whole", m.Method, m.Params.Meta)
		}
		w.cancelled(t, false) // which has waited
		w.polls, w.progress = 0, false
		out, err := mcpclient.CallToolAs[struct{ N int }](t.Context(), c, "slow", nil, mcpclient.WithTask(slow))
		check.That(t, err == nil && out.N == 1, "got %+v, %v, want the task's structured content", out, err)
	})
}

// A limit of the call bounds the whole, whichever option sets it, and cancels an unfinished task. That of a wait leaves the task.
func TestWithTaskLimits(t *testing.T) {
	const limit = 2500 * time.Millisecond
	task, progress := mcpclient.WithTask(slow), mcpclient.WithProgress(func(mcp.Progress) {})
	for name, tt := range map[string]struct {
		timeout time.Duration // of Options
		bounded bool          // the context
		opts    []mcpclient.CallOption
		wait    bool // by Task.Wait instead of a call
	}{
		"CallTimeout":               {timeout: limit, opts: []mcpclient.CallOption{task}},
		"CallTimeout with progress": {timeout: limit, opts: []mcpclient.CallOption{task, progress}},
		"WithTimeout":               {timeout: 1, opts: []mcpclient.CallOption{task, mcpclient.WithTimeout(limit)}},
		"WithTimeout with progress": {timeout: 1, opts: []mcpclient.CallOption{task, mcpclient.WithTimeout(limit), progress}},
		"context":                   {bounded: true, opts: []mcpclient.CallOption{task}},
		"context with progress":     {bounded: true, opts: []mcpclient.CallOption{task, progress}},
		"WithTimeout of Task.Wait":  {wait: true, opts: []mcpclient.CallOption{mcpclient.WithTimeout(limit)}},
	} {
		t.Run(name, func(t *testing.T) {
			working(t, func(o *mcpclient.Options) { o.Timeouts.Call = tt.timeout }, func(t *testing.T, c *mcpclient.Client, w *worker) {
				w.polls = -2
				ctx := t.Context()
				if tt.bounded {
					ctx = withTimeout(t, limit)
				}
				start := time.Now()
				if tt.wait {
					check.Is(t, check.Err(c.Task("k", "slow").Wait(ctx, tt.opts...)), context.DeadlineExceeded)
				} else {
					check.Is(t, check.Err(c.CallTool(ctx, "slow", nil, tt.opts...)), context.DeadlineExceeded)
				}
				check.Equal(t, "after", time.Since(start), limit)
				w.cancelled(t, !tt.wait)
			})
		})
	}
}

// Every answer about a task ends a silence, and so does progress while there is no answer.
// Pauses that the server requests do not count.
func TestWithTaskIdleTimeout(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		limit := mcpclient.WithIdleTimeout(300 * time.Millisecond)
		call := func() error { return check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), limit)) }
		w.polls = 5
		check.NoError(t, call())
		synctest.Wait()
		w.polls, w.lag = 0, 200*time.Millisecond
		check.NoError(t, call())
		synctest.Wait()
		w.silent, w.lag = true, 0
		late := func(what string, want time.Duration, wait func() error) {
			t.Helper()
			start := time.Now()
			check.Is(t, wait(), context.DeadlineExceeded, what)
			check.Equal(t, what, time.Since(start), want)
		}
		late("silence", 300*time.Millisecond, call)
		w.cancelled(t, true)
		go func() {
			for i := range 10 {
				time.Sleep(200 * time.Millisecond)
				synctest.Wait()
				w.tell(i)
			}
		}()
		late("progress", 2300*time.Millisecond, call)
		late("Wait", 300*time.Millisecond, func() error { return check.Err(c.Task("k", "slow").Wait(t.Context(), limit)) })
	})
}

// Progress does not shorten a pause that the server requests, and the limit may be the longest possible duration.
func TestWithTaskIdleInPauses(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		w.polls = 2
		go func() {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			w.tell(1)
		}()
		check.NoError(t, check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), mcpclient.WithIdleTimeout(300*time.Millisecond))))
		synctest.Wait()
		w.polls = 2
		check.NoError(t, check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), mcpclient.WithIdleTimeout(math.MaxInt64))))
		synctest.Wait()
	})
}

// The result of a task is checked like any other.
func TestWithTaskOutputCheck(t *testing.T) {
	tool := &mcp.Tool{Name: "slow", Execution: slow.Execution, OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)}
	checked := mcpclient.WithOutputCheck(tool, new(schemacheck.Validator))
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		call := func() (errs [2]error) {
			w.polls = 0
			errs[0] = check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(tool), checked))
			synctest.Wait()
			w.polls = 0
			errs[1] = check.Err(c.Task("k", "slow").Wait(t.Context(), checked))
			return errs
		}
		for _, err := range call() {
			check.NoError(t, err, "output that fits")
		}
		synctest.Wait()
		w.output = `{}`
		for _, err := range call() {
			check.Equal(t, "the task's result", wantError[*mcpclient.OutputError](t, err).Result.Text(), "done")
		}
		synctest.Wait()
		w.seen = nil
		unusable := mcpclient.WithOutputCheck(&mcp.Tool{Name: "slow", OutputSchema: json.RawMessage(`7`)}, new(schemacheck.Validator))
		check.Fails(t, check.Err(c.Task("k", "slow").Wait(t.Context(), unusable)), "a schema that cannot be used")
		check.Equal(t, "requests", len(w.seen), 0)
	})
}

// A task that has ended is not cancelled, nor is one of a server without cancellation.
func TestWithTaskLeavesAlone(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		w.end = "cancelled"
		check.Is(t, check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow))), mcpclient.ErrTaskCancelled)
		w.cancelled(t, false)
	})
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			p.greetWith(mcp.Revision20251125, `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`)
		}
		c := connected(t, transport, legacy())
		w := &worker{peer: <-transport.peers, output: `null`, polls: -2}
		go w.work()
		check.Is(t, check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), mcpclient.WithTimeout(time.Second/2))), context.DeadlineExceeded)
		w.cancelled(t, false)
	})
}

// If the server or the tool has no tasks, the call is like any other.
func TestWithTaskElsewhere(t *testing.T) {
	exact := modern()
	exact.Protocol.Capabilities, exact.Protocol.ExactCapabilities = json.RawMessage(`{}`), true
	for name, tt := range map[string]struct {
		opts mcpclient.Options
		tool *mcp.Tool
	}{
		"legacy server":      {legacy(), slow},
		"modern server":      {modern(), slow},
		"legacy tool":        {undeclared(legacy()), &mcp.Tool{Name: "slow"}},
		"modern declaration": {exact, slow},
	} {
		bubble(t, name, func(t *testing.T) {
			c, p := connectedPeer(t, tt.opts)
			go func() {
				m := p.next()
				check.That(t, !strings.Contains(string(m.Params.Meta), "tasks"), "got the _meta %s, want no word of tasks", m.Params.Meta)
				p.answer(m)
			}()
			callText(t, t.Context(), c, "slow", "slow", mcpclient.WithTask(tt.tool))
			p.quiet()
		})
	}
}

// A continued call may become a task, even if the caller answered its questions.
func TestContinueWithTask(t *testing.T) {
	inBubble(t, undeclared(rooted(modern())), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}}}`)
			(&worker{peer: p, output: `null`, end: "completed"}).work()
		}()
		r := round(t, check.Err(c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), mcpclient.WithManualInput())))
		check.Equal(t, "", textOf(mcpclient.Continue[mcp.CallToolResult](t.Context(), c, r, map[string]any{"q": json.RawMessage(`{"roots":[]}`)}, mcpclient.WithTask(slow), mcpclient.WithManualInput())), "done")
	})
}

// A client that is closed right after a call still cancels the task.
func TestTaskIsCancelledBeforeClose(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		w.silent = true
		err := check.Err(c.CallTool(withTimeout(t, 1500*time.Millisecond), "slow", nil, mcpclient.WithTask(slow)))
		check.NoError(t, c.Close())
		check.Is(t, err, context.DeadlineExceeded)
		w.cancelled(t, true)
	})
}

// Over HTTP the request that cancels a task is like any other, with the context values of the caller.
func TestTaskIsCancelledOverHTTP(t *testing.T) {
	type user struct{}
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan http.Header, 1)
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			result := `{"resultType":"complete"}`
			switch m.Method {
			case "tools/call":
				result = `{"resultType":"task","taskId":"k","status":"working","pollIntervalMs":3600000}`
			case "tasks/get":
				result = `{"taskId":"k","status":"working","pollIntervalMs":3600000}`
			case "tasks/cancel":
				cancelled <- r.Header
			}
			_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		})
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), WrapTransport: watched(func(r *http.Request) {
			name, _ := r.Context().Value(user{}).(string)
			r.Header.Set("User", name)
		})}, undeclared(modern()))
		ctx := context.WithValue(t.Context(), user{}, "eve")
		check.Is(t, check.Err(c.CallTool(ctx, "slow", nil, mcpclient.WithTask(slow), mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded)
		got := <-cancelled
		for name, want := range map[string]string{"Mcp-Method": "tasks/cancel", "Mcp-Name": "k", "User": "eve"} {
			check.Equal(t, name, got.Get(name), want)
		}
	})
}

// taskWithSecret calls a tool as a task with a secret header, and returns the error.
func taskWithSecret(t *testing.T, server *memhttp.Server, opts mcpclient.Options) error {
	opts.Protocol.AllowUndeclared = true
	h := &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: http.Header{"X-Key": {"secret-key"}}}
	return check.Err(connected(t, h, opts).CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow)))
}

// If the server repeats a secret in an answer about a task, the error of the call does not contain it.
func TestWithTaskHidesSecrets(t *testing.T) {
	const (
		echo    = "who is secret-key?"
		working = `{"resultType":"task","taskId":"k","status":"working","task":{"taskId":"k","status":"working"}}`
		failed  = `{"taskId":"k","status":"failed","error":{"code":-32000,"message":"` + echo + `"}}`
		done    = `{"taskId":"k","status":"completed","result":{"content":"` + echo + `"},"content":"` + echo + `"}`
		status  = `{"resultType":"task","taskId":"k","status":"` + echo + `","task":{"taskId":"k","status":"` + echo + `"}}`
		refusal = `"error":{"code":-32000,"message":"` + echo + `"}`
	)
	for name, answers := range map[string]map[string]string{ // by methods
		"status of the call":     {"tools/call": `"result":` + status},
		"result of the call":     {"tools/call": `"result":{"content":"` + echo + `"}`},
		"status":                 {"tasks/get": `"result":` + status},
		"refusal":                {"tasks/get": refusal},
		"failed task":            {"tasks/get": `"result":` + failed, "tasks/result": refusal},
		"result of another form": {"tasks/get": `"result":` + done, "tasks/result": `"result":` + done},
	} {
		for era, opts := range eras() {
			bubble(t, name+", "+era, func(t *testing.T) {
				s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
					answer, ok := answers[m.Method]
					if !ok {
						answer = `"result":` + working
					}
					_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
				})
				err := taskWithSecret(t, s, opts)
				check.Text(t, err, "who is [secret]?")
				check.That(t, !strings.Contains(fmt.Sprint(err), "secret-key"), "got %v, want what the server says without the secret", err)
			})
		}
	}
}

// A secret at the place where an error cuts the server's text is not shown in part.
func TestWithTaskHidesSecretAtTheCut(t *testing.T) {
	for _, form := range []string{`{"content":"%s"}`, `{"resultType":"task","taskId":"%s","task":7,"ttlMs":""}`} {
		for era, opts := range eras() {
			synctest.Test(t, func(t *testing.T) {
				s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
					result := fmt.Sprintf(form, strings.Repeat("x", 1024-strings.Index(form, "%")-len("secret"))+"secret-key")
					_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				})
				err := taskWithSecret(t, s, opts)
				check.Text(t, err, "xxx", era, form)
				check.That(t, !strings.Contains(fmt.Sprint(err), "xsecre"), "%s, %s: got %v, want no part of the secret", era, form, err)
			})
		}
	}
}

// The definition of another tool is refused, as it would check the result against a wrong schema.
func TestOptionOfAnotherTool(t *testing.T) {
	inBubble(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for name, opt := range map[string]mcpclient.CallOption{"WithTask": mcpclient.WithTask(slow), "WithOutputCheck": mcpclient.WithOutputCheck(slow, nil)} {
			check.Text(t, check.Err(c.CallTool(t.Context(), "quick", nil, opt)), name+` is given another tool, "slow"`, name)
		}
		p.quiet()
	})
}

// A modern client says that its server has the tasks of another revision.
func TestTaskOfAnotherRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			p.send("%s", strings.Replace(handshakeAnswer(p.next()), `"capabilities":{`, `"capabilities":{"tasks":{"requests":{"tools":{"call":{}}}},`, 1))
		}
		_, err := connected(t, transport, modern()).StartTask(t.Context(), slow, nil, 0)
		check.Text(t, err, "(it has the tasks of revision 2025-11-25, see Options.Protocol.Revision)")
	})
}

// WithTaskStarted gets the task before it is polled, and the caller may leave the task running.
// So may a wait for a task of another process.
func TestTaskThatIsLeft(t *testing.T) {
	refused := errors.New("cannot be kept")
	for name, tt := range map[string]struct {
		cause   error // ends the context after 2.5 s; nil for none
		refuse  error // of the function WithTaskStarted
		wait    bool  // by Task.Wait instead of a call
		cancels bool
	}{
		"call, detached":    {cause: mcpclient.ErrDetach},
		"call, given up":    {cause: context.Canceled, cancels: true},
		"call, not kept":    {refuse: refused, cancels: true},
		"resumed, detached": {cause: mcpclient.ErrDetach, wait: true},
		"resumed, given up": {cause: context.Canceled, wait: true, cancels: true},
	} {
		t.Run(name, func(t *testing.T) {
			working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
				w.polls = -1
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.cause != nil {
					time.AfterFunc(2500*time.Millisecond, func() { cancel(tt.cause) })
				}
				var err error
				if tt.wait {
					_, err = c.Task("k", "slow").Wait(ctx, mcpclient.WithTask(slow))
				} else {
					_, err = c.CallTool(ctx, "slow", nil, mcpclient.WithTask(slow), mcpclient.WithTaskStarted(func(s mcp.TaskState) error {
						check.That(t, s.ID == "k" && len(w.seen) == 1, "told of %q after %q", s.ID, w.methods())
						return tt.refuse
					}))
				}
				check.Is(t, err, cmp.Or(tt.refuse, context.Canceled))
				w.cancelled(t, tt.cancels)
			})
		})
	}
}
