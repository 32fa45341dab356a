package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func sleep(id string, seconds int) run.Part {
	return toolCall(id, "sleep", fmt.Sprintf(`{"seconds":%d}`, seconds))
}

func TestResultsAreInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		toolset, _ := open(t, nil)
		model := play(uses(sleep("a", 3), sleep("b", 1), sleep("c", 2)), says("done"))
		a := withTools(t, model, toolset, &agent.Options{ParallelWrites: true})
		var ended []string
		result := &agent.Result{}
		for e := range each(t, a.Events(t.Context(), human("go"))) {
			if e, ok := e.(*agent.ToolEnd); ok {
				ended = append(ended, fmt.Sprintf("%s after %v", e.ID, e.Duration))
			}
			result.Add(e)
		}
		diff(t, "ended", ended, []string{"b after 1s", "c after 2s", "a after 3s"})
		diff(t, "messages", lines(result.Messages), []string{
			`ai: a=sleep({"seconds":3}) b=sleep({"seconds":1}) c=sleep({"seconds":2})`,
			`tool: a/sleep→"slept 3 s"`, `tool: b/sleep→"slept 1 s"`, `tool: c/sleep→"slept 2 s"`,
			`ai: "done"`,
		})
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("took %v, want the 3s of the longest call", d)
		}
	})
}

func TestParallelism(t *testing.T) {
	for limit, want := range map[int]int32{0: 8, 1: 1, 3: 3} {
		synctestRun(t, fmt.Sprint(limit), func(t *testing.T) {
			toolset, server := open(t, nil)
			var calls []run.Part
			for i := range 20 {
				calls = append(calls, sleep(fmt.Sprint(i), 1))
			}
			got := mustRun(t, withTools(t, play(uses(calls...), says("done")), toolset, &agent.Options{Limits: run.Limits{Parallel: limit}, ParallelWrites: true}), human("go"))
			if most := server.most.Load(); most != want {
				t.Errorf("%d calls at the same time, want %d", most, want)
			}
			if got.Usage.Calls != 20 {
				t.Errorf("%d calls, want 20", got.Usage.Calls)
			}
		})
	}
}

func TestModelGetsTheTools(t *testing.T) {
	toolset, _ := open(t, nil)
	m := play(untilFinal(toolCall("", "echo", "{}")))
	mustRun(t, withTools(t, m, toolset, &agent.Options{Limits: run.Limits{Turns: 1}}), human("go"))
	first, last := m.prompts()[0].Request, m.prompts()[1].Request
	if want := len(toolset.Catalog(profile.Plain).Definitions()); len(first.Tools) != want {
		t.Errorf("got %d tools, want %d", len(first.Tools), want)
	}
	diff(t, "tools at the end", last.Tools, first.Tools)
	if first.ToolChoice != model.ChoiceAuto || last.ToolChoice != model.ChoiceNone {
		t.Errorf("tool choice %v, then %v; want auto, then none", first.ToolChoice, last.ToolChoice)
	}
}

func TestProgress(t *testing.T) {
	toolset, _ := open(t, nil)
	a := withTools(t, play(uses(toolCall("c", "count", "{}")), says("done")), toolset, nil)
	got := happenings(t, a, typed("tool_start", "tool_progress", "tool_end"))
	diff(t, "events", got, []string{
		"turn 1: tool count (c) starts",
		"turn 1: tool count (c) at 1",
		"turn 1: tool count (c) at 2",
		"turn 1: tool count (c) at 3",
		"turn 1: tool count (c) ends: counted",
	})
}

func TestTroubleIsToldToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, _ := open(t, &adapter.Options{Policy: adapter.Policy{CallTimeout: 5 * time.Second}})
		model := play(
			uses(
				toolCall("1", "fail", "{}"),
				toolCall("2", "ecko", "{}"),
				toolCall("3", "echo", `{"x":`),
				sleep("4", 3600),
				toolCall("5", "echo", `{"x":1}`),
			),
			says("done"),
		)
		got := mustRun(t, withTools(t, model, toolset, nil), human("go"))
		want := []string{"disk full", `there is no tool named "ecko". The tools are: ask, count,`, "JSON", "no answer within 5s", `{"x":1}`}
		for i, text := range want {
			content := results(got.Messages)[i]
			if !strings.Contains(content, text) {
				t.Errorf("call %d: the model was told %q, want %q", i+1, content, text)
			}
		}
	})
}

func TestListOfToolsIsBounded(t *testing.T) {
	s := newServer()
	for i := range 500 {
		s.addTool(fmt.Sprintf("extra%d", i), count)
	}
	toolset := openAll(t, nil, adapter.Server{Name: "box", Transport: s.connect(t)})
	got := mustRun(t, withTools(t, play(uses(toolCall("1", "x", "{}")), says("done")), toolset, &agent.Options{Discover: agent.Discover{Threshold: -1}}), human("go"))
	content := results(got.Messages)[0]
	if len(content) > 2100 || !strings.HasSuffix(content, "…") {
		t.Errorf("the model was told %d bytes: %q; want at most 2,100 and that there are more", len(content), content)
	}
}

func TestSuccessForgivesFailures(t *testing.T) {
	toolset, _ := open(t, nil)
	fails, works := uses(toolCall("", "fail", "{}")), uses(toolCall("", "fail", "{}"), toolCall("", "echo", "{}"))
	model := play(fails, works, fails, works, fails, says("done"))
	got := mustRun(t, withTools(t, model, toolset, &agent.Options{Limits: run.Limits{Failures: 2}}), human("go"))
	if got.StopReason != agent.StopOutput || got.Usage.Turns != 6 {
		t.Errorf("stopped with %q after %d turns, want an answer after 6", got.StopReason, got.Usage.Turns)
	}
}

func TestLostServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newServer(), newServer()
		toolset := openAll(t, &adapter.Options{AlwaysPrefix: true},
			adapter.Server{Name: "one", Transport: one.connect(t)},
			adapter.Server{Name: "two", Transport: two.connect(t)})
		model := play(
			uses(toolCall("1", "one__die", "{}")),
			uses(toolCall("2", "one__echo", "{}"), toolCall("3", "two__echo", "{}")),
			says("done"),
		)
		a := withTools(t, model, toolset, nil)
		got := happenings(t, a, func(e agent.Event) bool {
			switch e := e.(type) {
			case *agent.ServerLost:
				return errors.Is(e.Err, mcpclient.ErrClosed)
			case *agent.ToolEnd:
				return !e.Result.IsError
			case *agent.Output:
				return true
			}
			return false
		})
		diff(t, "events", got, []string{
			"one is lost",
			"turn 2: tool two__echo (3) ends: {}",
			"answer: done (answer)",
		})
	})
}

func TestCancelDuringToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(why) })
		toolset, _ := open(t, nil)
		model := play(uses(sleep("a", 1), sleep("b", 60), sleep("c", 60)))
		start := time.Now()
		got, err := withTools(t, model, toolset, &agent.Options{Limits: run.Limits{Parallel: 2}}).Run(ctx, human("go"))
		if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
			t.Errorf("error %v, want context.Canceled and its cause", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("ended after %v, want 2s", d)
		}
		// A turn that is not complete is not part of the history.
		if len(got.Messages) != 1 {
			t.Errorf("history %q, want the question only", lines(got.Messages))
		}
	})
}

func TestLeavingTheRangeCancelsToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, server := open(t, nil)
		start := time.Now()
		a := withTools(t, play(uses(sleep("a", 60), sleep("b", 60))), toolset, nil)
		for e := range each(t, a.Events(t.Context(), human("go"))) {
			if _, ok := e.(*agent.ToolStart); ok {
				synctest.Wait()
				break
			}
		}
		synctest.Wait()
		if n := server.running.Load(); n != 0 {
			t.Errorf("%d calls still run at the server", n)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("waited %v for the calls", d)
		}
	})
}

// touchy panics when it has to send a tool call.
type touchy struct{ mcpclient.Transport }

type touchyConn struct{ mcpclient.Conn }

func (t touchy) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := t.Transport.Dial(ctx)
	return touchyConn{conn}, err
}

func (c touchyConn) Send(ctx context.Context, message []byte) error {
	if strings.Contains(string(message), `"tools/call"`) {
		panic("oh no")
	}
	return c.Conn.Send(ctx, message)
}

func TestPanicInATransportEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset := openAll(t, &adapter.Options{AlwaysPrefix: true},
			adapter.Server{Name: "bad", Transport: touchy{newServer().connect(t)}},
			adapter.Server{Name: "good", Transport: newServer().connect(t)})
		model := play(uses(toolCall("1", "bad__echo", "{}"), toolCall("2", "good__sleep", `{"seconds":60}`)))
		start := time.Now()
		_, err := withTools(t, model, toolset, nil).Run(t.Context(), human("go"))
		if err == nil || !strings.Contains(err.Error(), "tool call panicked: oh no") {
			t.Errorf("error %v, want the panic", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ended after %v, want at once", d)
		}
	})
}

// Calls that may change something at one server are sent one after the other. What other
// servers do, and what changes nothing by the word of a trusted server, runs beside them.
func TestWritesAreInOrder(t *testing.T) {
	calls := []struct {
		tool    string
		seconds int
	}{{"a__sleep", 3}, {"a__look", 2}, {"a__sleep", 1}, {"b__sleep", 2}, {"a__look", 2}, {"b__sleep", 1}}
	for name, tt := range map[string]struct {
		trust    adapter.Trust
		parallel bool
		want     []string // when each call is sent
	}{
		"hints are not trusted": {adapter.TrustNone, false, []string{"1 at 0s", "4 at 0s", "6 at 2s", "2 at 3s", "3 at 5s", "5 at 6s"}},
		"hints are trusted":     {adapter.TrustHints, false, []string{"1 at 0s", "2 at 0s", "4 at 0s", "5 at 0s", "6 at 2s", "3 at 3s"}},
		"all in parallel":       {adapter.TrustNone, true, []string{"1 at 0s", "2 at 0s", "3 at 0s", "4 at 0s", "5 at 0s", "6 at 0s"}},
	} {
		synctestRun(t, name, func(t *testing.T) {
			server := func(label string) adapter.Server {
				s := newServer()
				s.AddTool(&sdk.Tool{
					Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
				}, s.sleep)
				return adapter.Server{Name: label, Transport: s.connect(t), Policy: adapter.Policy{Trust: tt.trust}}
			}
			var asked []run.Part
			for i, c := range calls {
				asked = append(asked, toolCall(fmt.Sprint(i+1), c.tool, fmt.Sprintf(`{"seconds":%d}`, c.seconds)))
			}
			model := play(uses(asked...), says("done"))
			a := withTools(t, model, openAll(t, nil, server("a"), server("b")), &agent.Options{ParallelWrites: tt.parallel})
			start := time.Now()
			var got, results []string
			for e := range each(t, a.Events(t.Context(), human("go"))) {
				switch e := e.(type) {
				case *agent.ToolStart:
					got = append(got, fmt.Sprintf("%s at %v", e.ID, e.Time.Sub(start)))
				case *agent.TurnEnd:
					for _, part := range e.Messages[len(e.Messages)-1].Parts {
						results = append(results, part.ID)
					}
				}
			}
			diff(t, "sent", got, tt.want)
			diff(t, "results", results[:len(calls)], []string{"1", "2", "3", "4", "5", "6"})
		})
	}
}
