package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var slow = &mcp.Tool{Name: "slow", Execution: json.RawMessage(`{"taskSupport":"optional"}`)}

func rooted(o mcpclient.Options) mcpclient.Options {
	o.Roots = []mcp.Root{{URI: "file:///w", Name: "work"}}
	return o
}

// answerBy answers requests by their methods, with the members of the answers.
func (p *peer) answerBy(members map[string]string) {
	for m := range p.inbox {
		p.send(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members[m.Method])
	}
}

// tasks checks what both eras have in common.
func tasks(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	start := time.Now()
	task := check.Value(c.StartTask(ctx, slow, map[string]int{"a": 1}, time.Minute))(t)
	check.Equal(t, "id", task.ID(), "k1")
	check.Equal(t, "", textOf(task.Wait(ctx)), "done")
	took := time.Since(start)
	check.That(t, took%(5*time.Second) == 0 && took != 0, "polled for %v, want a multiple of 5 s", took)
	old := c.Task("old", "slow") // like another process
	check.Equal(t, "failed", wantError[*mcp.RPCError](t, check.Err(old.Wait(ctx))).Message, "broken")
	check.NoError(t, old.Cancel(ctx))
	check.Is(t, check.Err(old.Wait(ctx)), mcpclient.ErrTaskCancelled)
	wantCode(t, check.Err(old.Poll(ctx)), mcp.CodeInvalidParams)
	now := check.Value(c.StartTask(ctx, slow, nil, 0))(t)
	check.Equal(t, "id of a task that ended at once", now.ID(), "")
	state, err := now.Poll(ctx)
	check.NoError(t, errors.Join(err, now.Cancel(ctx)))
	check.Equal(t, "at once", state.Status, mcp.TaskCompleted)
	check.Equal(t, "at once", textOf(now.Wait(ctx)), "at once")
}

func TestTasks(t *testing.T) {
	playAll(t, []conversation{
		{name: "tasks_legacy", opts: rooted(legacy()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			tasks(t, ctx, c)
			// A cancelled request for a task sends no cancellation.
			check.Is(t, check.Err(c.StartTask(ctx, slow, nil, 0, mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded)
			time.Sleep(2 * time.Second)
			ping(t, ctx, c)
			for _, support := range []string{``, `{}`, `{"taskSupport":"forbidden"}`, `7`} {
				check.Is(t, check.Err(c.StartTask(ctx, &mcp.Tool{Name: "slow", Execution: json.RawMessage(support)}, nil, 0)), mcpclient.ErrUndeclared)
			}
		}},
		{name: "tasks_modern", opts: rooted(modern()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			tasks(t, ctx, c)
			check.Is(t, check.Err(c.CallTool(ctx, "slow", nil)), mcp.ErrInvalidResult, "a task that nobody asked for")
			old := c.Task("old", "slow")
			for _, what := range []string{"another task", "unknown status", "no result", "no error"} {
				check.Is(t, check.Err(old.Wait(ctx)), mcp.ErrInvalidResult, what)
			}
		}},
	})
	playAll(t, bothEras(conversation{name: "tasks_undeclared", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Is(t, check.Err(c.StartTask(ctx, slow, nil, 0)), mcpclient.ErrUndeclared)
		check.Text(t, check.Err(c.StartTask(ctx, slow, nil, -1)), "ttl -1ns is negative")
	}}))
}

// The client has no tasks of its own: "Receivers that do not declare the task capability for a request type MUST
// process requests of that type normally, ignoring any task-augmentation metadata" (2025-11-25 tasks).
func TestTasksOfTheClient(t *testing.T) {
	const form = `{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}},"task":{"ttl":60000}}`
	inBubble(t, asks(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for method, test := range map[string]struct{ params, want string }{
			"sampling/createMessage": {strings.TrimSuffix(samplingParams, "}") + `,"task":{"ttl":60000}}`, `"text":"tea"`},
			"elicitation/create":     {form, `"n":"Ada"`},
		} {
			p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, test.params)
			if m := p.next(); !strings.Contains(string(m.Result), test.want) || strings.Contains(string(m.Result), "taskId") {
				t.Errorf("%s: got %s, %v, want the result itself", method, m.Result, m.Error)
			}
		}
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
			p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":"1"}}`, method)
			p.refused(mcp.CodeMethodNotFound)
		}
	})
}

func TestListTasks(t *testing.T) {
	playAll(t, []conversation{{name: "tasks_list_legacy", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		describe := func(s *mcp.TaskState) string {
			return fmt.Sprint(s.ID, " ", s.Status, " ", s.PollInterval, " ", s.TTL != nil && *s.TTL == time.Minute)
		}
		wantList(t, mcpclient.List[mcp.TaskState](ctx, c, "tasks/list", "tasks"), describe, nil, "a working 5s true", "b completed 0s false")
		check.Is(t, check.Err(collect(mcpclient.List[mcp.TaskState](ctx, c, "tasks/list", "tasks"), describe)), mcp.ErrInvalidResult, "unknown status")
	}}})
	eachPeer(t, func(t *testing.T, _ string, c *mcpclient.Client, p *peer) {
		check.Is(t, check.Err(collect(mcpclient.List[mcp.TaskState](t.Context(), c, "tasks/list", "tasks"), func(*mcp.TaskState) string { return "" })), mcpclient.ErrUndeclared)
		p.quiet()
	})
}

// The number of a task's questions and rounds is bounded.
func TestTaskBounds(t *testing.T) {
	opts := rooted(modern())
	opts.Limits.Rounds, opts.Limits.ServerRequests = 2, 3
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		task, poll := c.Task("k", "slow"), "0"
		questions := `{}`
		gets := 0
		go p.each(func(m message) {
			if m.Method != "tasks/get" {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
				return
			}
			gets++
			status, asked := "input_required", questions
			switch questions {
			case "new":
				asked = `{"q` + string(m.ID) + `":{"method":"roots/list"}}`
			case "":
				status, asked = "completed", `{}`
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"k","status":%q,"pollIntervalMs":%s,"inputRequests":%s,"result":{"content":[]}}}`, m.ID, status, poll, asked)
		})
		polls := func(interval string, wait time.Duration, want int) {
			t.Helper()
			poll, gets = interval, 0
			check.Is(t, check.Err(task.Wait(withTimeout(t, wait))), context.DeadlineExceeded, interval)
			check.Equal(t, "polls at the interval "+interval, gets, want)
		}
		polls("0", 10*time.Second-time.Millisecond, 10)
		polls("0.001", time.Second-time.Millisecond, 10)
		questions = "new"
		check.Is(t, check.Err(task.Wait(t.Context())), mcpclient.ErrTooManyRounds, "always another question")
		questions = `{"1":{"method":"roots/list"},"2":{"method":"roots/list"},"3":{"method":"roots/list"},"4":{"method":"roots/list"}}`
		check.Is(t, check.Err(task.Wait(t.Context())), mcp.ErrInvalidResult, "four questions at once")
		questions = `{}`
		polls("1e300", 90*time.Minute, 2)
		questions = ""
		check.NoError(t, check.Err(task.Wait(t.Context())))
	})
}

// The answer to a poll is decoded once, even if it contains the result.
func TestTaskIsReadOnce(t *testing.T) {
	const size = 4 << 20
	result := `{"content":[],"structuredContent":"` + strings.Repeat("x", size) + `"}`
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.replyAll(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"k","status":"completed","result":%s}}`, result)
		task := c.Task("k", "slow")
		polled := check.Allocated(func() { check.NoError(t, check.Err(task.Poll(t.Context()))) })
		waited := check.Allocated(func() { check.NoError(t, check.Err(task.Wait(t.Context()))) })
		more := (float64(waited) - float64(polled)) / size
		check.That(t, more <= 1.5, "a wait takes %.1f times its result more than a poll, want room for the result alone", more)
	})
}

// Revisions before 2025-11-25 have no tasks, whatever a server declares.
func TestNoTasksBefore20251125(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			p.greetWith(mcp.Revision20250618, `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`)
		}
		c := connected(t, transport, speaking(mcp.Revision20250618))
		check.Is(t, check.Err(c.StartTask(t.Context(), slow, nil, 0)), mcpclient.ErrUndeclared)
		(<-transport.peers).quiet()
	})
}

// A question of a task is asked once, however many wait for the task, unless it was not answered.
func TestTaskQuestionsAreAskedOnce(t *testing.T) {
	var asked atomic.Int32
	opts := samples(modern(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		if asked.Add(1) == 1 {
			return nil, errors.New("no model")
		}
		return tea(), backoff.Sleep(ctx, 3*time.Second)
	})
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var updates atomic.Int32
		go p.each(func(m message) {
			if m.Method == "tasks/update" {
				updates.Add(1)
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"k","status":"input_required","inputRequests":{"q":%s}}}`, m.ID, samplingQuestion)
		})
		task := c.Task("k", "slow")
		check.Text(t, check.Err(task.Wait(t.Context())), "no model", "a question without an answer")
		together(2, func() { // one answers, and the other continues to poll
			for range 2 {
				check.Is(t, check.Err(task.Wait(withTimeout(t, 5*time.Second))), context.DeadlineExceeded)
			}
		})
		synctest.Wait() // for the answer to the last poll
		check.Equal(t, "questions: the failure, and then once", asked.Load(), 2)
		check.Equal(t, "answers", updates.Load(), 1)
	})
}

// A task whose question a handler leaves to the caller continues with the answer, given through
// any Task of any process. Questions that the server no longer asks are left out.
func TestTaskIsAnsweredLater(t *testing.T) {
	opts := samples(modern(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, mcp.ErrAnswerLater
	})
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var updates []string
		go p.each(func(m message) {
			if m.Method == "tasks/update" {
				updates = append(updates, string(m.Params.Answers))
			}
			if len(updates) > 0 {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","taskId":"k","status":"completed","result":{"content":[{"type":"text","text":"done"}]}}}`, m.ID)
				return
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","taskId":"k","status":"input_required","inputRequests":{"q":%s}}}`, m.ID, samplingQuestion)
		})
		_, err := c.Task("k", "slow").Wait(t.Context())
		r := round(t, err)
		check.Require(t, r.Method == "tasks/update" && len(r.Requests) == 1 && !strings.Contains(err.Error(), `"k"`),
			"got %+v, want the question of the task, and no id in %v", r, err)
		answer := map[string]any{"q": tea()}
		other := c.Task("k", "slow")
		for name, err := range map[string]error{
			"another task": c.Task("x", "slow").Answer(t.Context(), r, answer),
			"no round":     other.Answer(t.Context(), nil, answer),
			"no answer":    other.Answer(t.Context(), r, nil),
			"no question":  other.Answer(t.Context(), r, map[string]any{"z": tea()}),
			"no id":        c.Task("", "slow").Answer(t.Context(), r, answer),
		} {
			check.Fails(t, err, name)
		}
		for range 2 { // the second time after the end of the task
			check.Must(t, other.Answer(t.Context(), r, answer))
		}
		check.Equal(t, "", textOf(other.Wait(t.Context())), "done")
		check.That(t, len(updates) == 1 && strings.Contains(updates[0], `{"q":{"role":"assistant"`),
			"the server is told %q, want the answer once", updates)
	})
}

// "A task result elsewhere is invalid": only a tool call becomes a task, and only tasks/get may
// have that type, for servers that follow the examples.
func TestTaskResultElsewhere(t *testing.T) {
	const question = `"result":{"taskId":"k","status":"input_required","inputRequests":{"q":{"method":"roots/list"}}}`
	const working = `"result":{"resultType":"task","taskId":"k","status":"working"}`
	inBubble(t, rooted(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.answerBy(map[string]string{"tasks/get": question, "tasks/cancel": working, "tasks/update": working})
		task := c.Task("k", "slow")
		check.Is(t, task.Cancel(t.Context()), mcp.ErrInvalidResult, "tasks/cancel")
		wantBoth(t, check.Err(task.Wait(withTimeout(t, time.Minute))), mcp.ErrInvalidResult, "answer: ", "tasks/update")
	})
}

// A server of revision 2025-11-25 may report a cancelled task at once, and then forget it.
func TestCancelledTaskIsNotAskedFor(t *testing.T) {
	opts, log := logs(undeclared(legacy()), slog.LevelDebug)
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		task := c.Task("secret-id", "slow")
		go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"secret-id","status":"cancelled"}}`)
		check.Must(t, task.Cancel(t.Context()))
		check.Is(t, check.Err(task.Wait(t.Context())), mcpclient.ErrTaskCancelled)
		p.quiet()
		if text := log.String(); !strings.Contains(text, "tool=slow status=cancelled") || strings.Contains(text, "secret-id") {
			t.Errorf("got the log %q, want the status, and not the id", text)
		}
	})
}

// A wait for a task that is cancelled in the meantime fails with ErrTaskCancelled, even if the server has forgotten the task.
func TestTaskIsCancelledMeanwhile(t *testing.T) {
	inBubble(t, undeclared(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		task := c.Task("k", "slow")
		waited := background(func() error { return check.Err(task.Wait(t.Context())) })
		poll := p.next()
		cancelled := background(func() error { return task.Cancel(t.Context()) })
		p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"k","status":"cancelled"}}`)
		check.NoError(t, <-cancelled)
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such task"}}`, poll.ID)
		check.Is(t, <-waited, mcpclient.ErrTaskCancelled)
	})
}

// A server that answers at once makes no task, so there is no id with which to resume it.
func TestResumeNoTask(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		task := c.Task("", "a")
		result, err := task.Wait(t.Context())
		_, pollErr := task.Poll(t.Context())
		for _, err := range []error{err, pollErr, task.Cancel(t.Context())} {
			check.Text(t, err, "no id")
		}
		check.That(t, result == nil, "got %+v, want no result", result)
		p.quiet()
	})
}

// A result arrives at the end of its task: neither silence nor a default limit bounds the wait, but explicit limits do.
func TestTaskResultTakesItsTime(t *testing.T) {
	const minute, hour, late = time.Minute, time.Hour, 30 * time.Hour
	for name, tt := range map[string]struct {
		call time.Duration // of Options
		opts []mcpclient.CallOption
		want time.Duration
	}{
		"default":           {want: late},
		"idle of the wait":  {opts: []mcpclient.CallOption{mcpclient.WithIdleTimeout(minute), mcpclient.WithTimeout(0)}, want: late},
		"whole of the wait": {opts: []mcpclient.CallOption{mcpclient.WithTimeout(2 * hour)}, want: 2 * hour},
		"whole of calls":    {call: hour, want: hour},
	} {
		t.Run(name, func(t *testing.T) {
			opts := legacy()
			opts.Timeouts.Call = tt.call
			inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				go func() {
					p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"k","status":"input_required"}}`)
					m := p.next()
					time.Sleep(late)
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
				}()
				start := time.Now()
				_, err := c.Task("k", "slow").Wait(t.Context(), tt.opts...)
				check.Equal(t, "after", time.Since(start), tt.want)
				check.Equal(t, "succeeds", err == nil, tt.want == late)
				time.Sleep(late)
			})
		})
	}
}

// An answer that did not reach the server leaves its question open: a later wait asks again.
func TestTaskAnswerThatFailed(t *testing.T) {
	opts := samples(modern(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, mcp.ErrAnswerLater
	})
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.answerBy(map[string]string{
			"tasks/update": `"error":{"code":-32603,"message":"try later"}`,
			"tasks/get":    `"result":{"resultType":"complete","taskId":"k","status":"input_required","inputRequests":{"q":` + samplingQuestion + `}}`,
		})
		task := c.Task("k", "slow")
		r := round(t, check.Err(task.Wait(t.Context())))
		check.Fails(t, task.Answer(t.Context(), r, map[string]any{"q": tea()}), "the server refused the answer")
		r = round(t, check.Err(task.Wait(withTimeout(t, time.Minute))))
		check.Equal(t, "questions again", len(r.Requests), 1)
	})
}
