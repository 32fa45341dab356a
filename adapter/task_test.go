package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// taskPeer is a scripted server with the tool "slow", which requires a task by default. It counts requests, and keeps params.
type taskPeer struct {
	handshake string // the result
	created   string // the result of tools/call, whatever it is asked for
	status    string // of the task, once it was asked for often enough
	polls     int    // until then
	message   string // why the task failed
	plain     bool   // it has no tasks
	execution string // of the tool, "" for a tool that must be a task
	progress  bool   // is told with every answer about the task

	token   json.RawMessage // of the call
	methods []string
	params  map[string]string
}

// eras are servers with both designs of tasks.
func eras() map[string]*taskPeer {
	const state = `"taskId":"k","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"`
	return map[string]*taskPeer{
		"2025-11-25": {
			handshake: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}`,
			created:   `{"task":{` + state + `,"ttl":null,"pollInterval":1000}}`,
		},
		"2026-07-28": {
			handshake: `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
			created:   `{"resultType":"task",` + state + `,"ttlMs":null,"pollIntervalMs":1000}`,
		},
	}
}

// answer is the result or the error of a request.
func (p *taskPeer) answer(method string) string {
	const result = `{"content":[{"type":"text","text":"done"}]}`
	switch method {
	case "initialize", "server/discover":
		if strings.Contains(p.handshake, "protocolVersion") == (method == "initialize") {
			return `"result":` + p.handshake
		}
	case "tools/list":
		if p.execution == "" {
			p.execution = `{"taskSupport":"required"}`
		}
		return `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":` + p.execution + `}]}`
	case "tools/call":
		if p.plain {
			return `"result":` + result
		}
		return `"result":` + p.created
	case "tasks/get":
		status := p.status
		if p.polls--; p.polls >= 0 {
			status = "working"
		}
		return fmt.Sprintf(`"result":{"resultType":"complete","taskId":"k","status":%q,"pollInterval":1000,"pollIntervalMs":1000,"result":%s,"error":{"code":-32603,"message":%q}}`,
			status, result, p.message)
	case "tasks/result":
		if p.status == "failed" {
			return fmt.Sprintf(`"error":{"code":-32603,"message":%q}`, p.message)
		}
		return `"result":` + result
	case "tasks/cancel":
		return `"result":{"resultType":"complete","taskId":"k","status":"cancelled"}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

// transport returns a transport to the server.
func (p *taskPeer) transport(t *testing.T) (way mcpclient.Transport) {
	var conn transport.Conn
	way, conn = answeredBy(t, func(m *testenv.Message) string {
		if m.ID == nil {
			return ""
		}
		p.methods = append(p.methods, m.Method)
		p.params[m.Method] = string(m.Params)
		if m.Method == "tools/call" {
			p.token = m.ID
		} else if p.progress && strings.HasPrefix(m.Method, "tasks/") {
			_ = conn.Send(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`,
				p.token, len(p.methods)))
		}
		return p.answer(m.Method)
	})
	return way
}

// inBothEras runs f for a peer of each era with the settings that set makes.
func inBothEras(t *testing.T, opts *Options, set func(p *taskPeer), f func(t *testing.T, p *taskPeer, ts *Toolset)) {
	for revision, p := range eras() {
		t.Run(revision, func(t *testing.T) {
			set(p)
			withTasks(t, p, opts, func(t *testing.T, ts *Toolset) { f(t, p, ts) })
		})
	}
}

// withTasks runs f in a bubble with a toolset on the peer. The peer's fields may be used while no request is in progress.
func withTasks(t *testing.T, p *taskPeer, opts *Options, f func(t *testing.T, ts *Toolset)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p.params = map[string]string{}
		f(t, open(t, opts, Server{Name: "p", Transport: p.transport(t)}))
	})
}

func (p *taskPeer) asked(method string) bool { return slices.Contains(p.methods, method) }

func TestToolThatMustBeATask(t *testing.T) {
	inBothEras(t, nil, func(p *taskPeer) { p.status, p.polls = "completed", 3 }, func(t *testing.T, p *taskPeer, ts *Toolset) {
		start := time.Now()
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "slow", `{"a":1}`), mcpclient.WithMeta("example.com/k", json.RawMessage(`7`)))
		check.That(t, r.Text == "done" && r.Err == nil && !r.IsError && r.Raw != nil && time.Since(start) == 3*time.Second,
			"got %q, %v after %v, want the task's result after 3s", r.Text, r.Err, time.Since(start))
		check.That(t, !p.asked("tasks/cancel"), "a task that ended was cancelled")
		for _, want := range []string{`"name":"slow"`, `"arguments":{"a":1}`, `"example.com/k":7`} {
			check.Contains(t, "call", p.params["tools/call"], want)
		}
	})
}

func TestTaskThatComesToNothing(t *testing.T) {
	for status, want := range map[string]string{
		"failed":    "Error: the server answered with an error: no disk (code -32603)",
		"cancelled": "Error: the tool's server gave the call up; the tool may have done a part of it",
	} {
		inBothEras(t, nil, func(p *taskPeer) { p.status, p.message = status, "no disk" }, func(t *testing.T, _ *taskPeer, ts *Toolset) {
			r := callTool(t, ts, "slow", "")
			check.That(t, r.Text == want && r.IsError && r.Fatal() == nil && strings.HasPrefix(r.Err.Error(), `server "p": `),
				"got %q, %v, fatal %v, want %q", r.Text, r.Err, r.Fatal(), want)
		})
	}
}

// A task without a waiting caller is cancelled, and the call returns at once.
func TestTaskIsCancelled(t *testing.T) {
	const limit, late = 5500 * time.Millisecond, "Error: the tool gave no answer within 5.5s; it may still be running"
	for _, tt := range []struct {
		policy  Policy
		context time.Duration // its limit
		call    []mcpclient.CallOption
		want    string
		fatal   bool
	}{
		{Policy{}, limit, nil, "Error: the call was cancelled; the tool may or may not have run", true},
		{Policy{CallTimeout: limit}, time.Hour, nil, late, false},
		{Policy{CallTimeout: time.Second}, time.Hour, []mcpclient.CallOption{mcpclient.WithTimeout(limit)}, late, false},
	} {
		inBothEras(t, &Options{Policy: tt.policy}, func(p *taskPeer) { p.status = "working" }, func(t *testing.T, p *taskPeer, ts *Toolset) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.context)
			defer cancel()
			start := time.Now()
			r := ts.Catalog(profile.Plain).Call(ctx, call("1", "slow", ""), tt.call...)
			check.Equal(t, "until its end", time.Since(start), limit)
			check.Equal(t, "", r.Text, tt.want)
			check.That(t, errors.Is(r.Err, context.DeadlineExceeded) && (r.Fatal() != nil) == tt.fatal, "got %v, fatal %v, want a deadline", r.Err, r.Fatal())
			synctest.Wait()
			check.Contains(t, "tasks/cancel", p.params["tasks/cancel"], `"taskId":"k"`)
		})
	}
}

// A server without tasks is never asked for one, whatever its tools say.
func TestServerWithoutTasks(t *testing.T) {
	inBothEras(t, nil, func(p *taskPeer) {
		p.plain = true
		p.handshake = strings.NewReplacer(`"tasks":{`, `"experimental":{`, `"extensions":{`, `"experimental":{`).Replace(p.handshake)
	}, func(t *testing.T, p *taskPeer, ts *Toolset) {
		check.Equal(t, "", callTool(t, ts, "slow", "").Text, "done")
		check.That(t, !strings.Contains(p.params["tools/call"], `"task"`), "got %s, want a call like any other", p.params["tools/call"])
	})
}

// A call gets the progress of its task until the end.
func TestTaskProgress(t *testing.T) {
	inBothEras(t, nil, func(p *taskPeer) { p.status, p.polls, p.progress = "completed", 2, true }, func(t *testing.T, p *taskPeer, ts *Toolset) {
		heard := 0
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "slow", ""), mcpclient.WithProgress(func(mcp.Progress) { heard++ }))
		check.That(t, r.Text == "done" && heard >= 3, "got %q, %v and %d notices, want one for each of 3 polls", r.Text, r.Err, heard)
	})
}

// If the server decides what becomes a task, tools are called as tasks, because it may refuse other
// calls. If the client decides, a plain call is answered sooner.
func TestToolThatMayBeATask(t *testing.T) {
	for _, execution := range []string{`{"taskSupport":"optional"}`, `{}`, `7`} {
		inBothEras(t, nil, func(p *taskPeer) {
			p.status, p.execution, p.plain = "completed", execution, strings.Contains(p.handshake, "2025-11-25")
		}, func(t *testing.T, p *taskPeer, ts *Toolset) {
			check.Equal(t, "", callTool(t, ts, "slow", "").Text, "done")
			check.Equal(t, p.params["tools/call"], strings.Contains(p.params["tools/call"], "task"), !p.plain)
		})
	}
}

// A call that has become a task continues in another process, through the interceptors and without another approval.
func TestResume(t *testing.T) {
	for revision, p := range eras() {
		t.Run(revision, func(t *testing.T) {
			var ran, asked int
			opts := &Options{
				Approve: counted(&asked, approval.Decision{Allow: true}),
				Intercept: before(func(_ context.Context, r *Request) {
					if ran++; ran == 2 {
						r.Arguments = []byte(`{"a":2}`) // of a call that was sent long ago
					}
				}),
			}
			p.status, p.polls = "completed", 5
			withTasks(t, p, opts, func(t *testing.T, ts *Toolset) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2500*time.Millisecond, func() { cancel(mcpclient.ErrDetach) })
				prepared, id := prepare(t, ts, "slow", `{"a":1}`), ""
				r := prepared.Run(ctx, mcpclient.WithTaskStarted(func(s mcp.TaskState) error { id = s.ID; return nil }))
				check.That(t, r.Interrupted() && !r.Unsent() && id == "k", "got %q of task %q, want that it is interrupted", r.Text, id)
				again := open(t, opts, Server{Name: "p", Transport: p.transport(t)})
				tool := check.Value(again.Catalog(profile.Plain).LookupStored("p", "slow", prepared.Tool().Fingerprint()))(t)
				restored := check.Value(tool.Restore(call("1", "slow", ""), prepared.Arguments(), false))(t)
				check.Equal(t, "", restored.Continue(t.Context(), id, nil, nil).Text, "done")
				check.Equal(t, "intercepted, approved", [2]int{ran, asked}, [2]int{2, 1})
				n := strings.Count(strings.Join(p.methods, " "), "tools/call")
				check.That(t, n == 1 && !p.asked("tasks/cancel"), "got the requests %q, want one call and nothing cancelled", p.methods)
			})
		})
	}
}

// A call that cannot be resumed says so. A call whose wait was interrupted may be resumed again,
// and does not count as unsent.
func TestResumeThatEnds(t *testing.T) {
	for _, cause := range []error{mcpclient.ErrDetach, context.Canceled} {
		p := eras()["2026-07-28"]
		p.status = "working"
		withTasks(t, p, nil, func(t *testing.T, ts *Toolset) {
			prepared := prepare(t, ts, "slow", "")
			check.Equal(t, "", prepared.Continue(t.Context(), "", nil, nil).Text, "Error: the call cannot be continued: the round is nil. The tool may or may not have run.")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(2500*time.Millisecond, func() { cancel(cause) })
			r := prepared.Continue(ctx, "k", nil, nil)
			synctest.Wait()
			check.That(t, r.Interrupted() && errors.Is(r.Err, context.Canceled) && slices.Contains(p.methods, "tasks/cancel") == (cause == context.Canceled),
				"%v: got %v and the requests %q", cause, r.Err, p.methods)
			_ = ts.Servers()[0].Client.Close()
			r = prepared.Continue(t.Context(), "k", nil, nil)
			check.That(t, r.Interrupted() && !r.Unsent(), "got %q, want that it is not known what the task comes to", r.Text)
		})
	}
}
