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
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func sleep(id string, seconds int) run.Part {
	return toolCall(id, "sleep", fmt.Sprintf(`{"seconds":%d}`, seconds))
}

func TestResultsAreInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := boxed(t, play(uses(sleep("a", 3), sleep("b", 1), sleep("c", 2)), says("done")), &agent.Options{ParallelWrites: true})
		var ended []string
		events, result := played(t, a.Events(t.Context(), human("go")))
		for _, e := range of[*agent.ToolEnd](events) {
			ended = append(ended, fmt.Sprintf("%s after %v", e.ID, e.Duration))
		}
		check.Same(t, "ended", ended, []string{"b after 1s", "c after 2s", "a after 3s"})
		check.Same(t, "messages", lines(result.Messages), []string{
			`ai: a=sleep({"seconds":3}) b=sleep({"seconds":1}) c=sleep({"seconds":2})`,
			`tool: a/sleep→"slept 3 s"`, `tool: b/sleep→"slept 1 s"`, `tool: c/sleep→"slept 2 s"`,
			`ai: "done"`,
		})
		check.Equal(t, "took the time of the longest call", time.Since(start), 3*time.Second)
	})
}

func TestParallelism(t *testing.T) {
	for limit, want := range map[int]int32{0: 8, 1: 1, 3: 3} {
		synctestRun(t, fmt.Sprint(limit), func(t *testing.T) {
			toolset, server := open(t, nil)
			got := mustRun(t, withTools(t, play(uses(repeated(20, "sleep", `{"seconds":1}`)...), says("done")), toolset,
				&agent.Options{Limits: run.Limits{Parallel: limit}, ParallelWrites: true}), human("go"))
			check.Same(t, "calls at the same time, and all", []any{server.most.Load(), got.Usage.Calls}, []any{want, 20})
		})
	}
}

func TestModelGetsTheTools(t *testing.T) {
	toolset, _ := open(t, nil)
	m := play(untilFinal(toolCall("", "echo", "{}")))
	mustRun(t, withTools(t, m, toolset, &agent.Options{Limits: run.Limits{Turns: 1}}), human("go"))
	first, last := m.prompts()[0].Request, m.prompts()[1].Request
	check.Equal(t, "tools", len(first.Tools), len(toolset.Catalog(profile.Plain).Definitions()))
	check.Same(t, "tools at the end", last.Tools, first.Tools)
	check.Same(t, "tool choice", []model.Choice{first.ToolChoice, last.ToolChoice}, []model.Choice{model.ChoiceAuto, model.ChoiceNone})
}

func TestProgress(t *testing.T) {
	a := boxed(t, play(uses(toolCall("c", "count", "{}")), says("done")), nil)
	check.Same(t, "events", happenings(t, a, typed("tool_start", "tool_progress", "tool_end")), []string{
		"turn 1: tool count (c) starts", "turn 1: tool count (c) at 1", "turn 1: tool count (c) at 2", "turn 1: tool count (c) at 3", "turn 1: tool count (c) ends: counted",
	})
}

func TestTroubleIsToldToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, _ := open(t, &adapter.Options{Policy: adapter.Policy{CallTimeout: 5 * time.Second}})
		model := play(uses(toolCall("1", "fail", "{}"), toolCall("2", "ecko", "{}"), toolCall("3", "echo", `{"x":`), sleep("4", 3600),
			toolCall("5", "echo", `{"x":1}`)), says("done"))
		told := results(mustRun(t, withTools(t, model, toolset, nil), human("go")).Messages)
		for i, want := range []string{"disk full", `there is no tool named "ecko". The tools are: ask, count,`, "JSON", "no answer within 5s", `{"x":1}`} {
			check.Contains(t, fmt.Sprint("what the model was told of call ", i+1), told[i], want)
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
	within(t, "bytes that the model was told", len(content), 0, 2100)
	check.Equal(t, content+": says that there are more", strings.HasSuffix(content, "…"), true)
}

func TestSuccessForgivesFailures(t *testing.T) {
	fails, works := uses(toolCall("", "fail", "{}")), uses(toolCall("", "fail", "{}"), toolCall("", "echo", "{}"))
	got := mustRun(t, boxed(t, play(fails, works, fails, works, fails, says("done")), &agent.Options{Limits: run.Limits{Failures: 2}}), human("go"))
	check.Same(t, "stopped with", []any{got.StopReason, got.Usage.Turns}, []any{agent.StopOutput, 6})
}

func TestLostServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newServer(), newServer()
		toolset := openAll(t, &adapter.Options{AlwaysPrefix: true},
			adapter.Server{Name: "one", Transport: one.connect(t)}, adapter.Server{Name: "two", Transport: two.connect(t)})
		model := play(uses(toolCall("1", "one__die", "{}")), uses(toolCall("2", "one__echo", "{}"), toolCall("3", "two__echo", "{}")), says("done"))
		got := happenings(t, withTools(t, model, toolset, nil), func(e agent.Event) bool {
			switch e := e.(type) {
			case *agent.ToolEnd:
				return !e.Result.IsError
			case *agent.Output:
				return true
			}
			return false
		})
		check.Same(t, "events", got, []string{"turn 2: tool two__echo (3) ends: {}", "answer: done (answer)"})
	})
}

func TestCancelDuringToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(why) })
		model := play(uses(sleep("a", 1), sleep("b", 60), sleep("c", 60)))
		start := time.Now()
		got, err := boxed(t, model, &agent.Options{Limits: run.Limits{Parallel: 2}}).Run(ctx, human("go"))
		check.Is(t, err, context.Canceled)
		check.Is(t, err, why)
		check.Equal(t, "ended after", time.Since(start), 2*time.Second)
		// A turn that is not complete is not part of the history.
		check.Equal(t, "messages", len(got.Messages), 1)
	})
}

func TestLeavingTheRangeCancelsToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, server := open(t, nil)
		start := time.Now()
		leaves(t, withTools(t, play(uses(sleep("a", 60), sleep("b", 60))), toolset, nil), typed("tool_start"))
		synctest.Wait()
		check.Same(t, "calls that still run, and the wait", []any{server.running.Load(), time.Since(start)}, []any{int32(0), time.Duration(0)})
	})
}

// touchy panics when it has to send a tool call.
type touchy struct{ mcpclient.Transport }

type touchyConn struct{ transport.Conn }

func (t touchy) Dial(ctx context.Context) (transport.Conn, error) {
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
		check.Text(t, check.Err(withTools(t, model, toolset, nil).Run(t.Context(), human("go"))), "tool call panicked: oh no")
		check.Equal(t, "ended after", time.Since(start), 0)
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
				s.AddTool(&sdk.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`),
					Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, s.sleep)
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
			events, _ := played(t, a.Events(t.Context(), human("go")))
			for _, e := range of[*agent.ToolStart](events) {
				got = append(got, fmt.Sprintf("%s at %v", e.ID, e.Time.Sub(start)))
			}
			for _, part := range of[*agent.TurnEnd](events)[0].Messages[1].Parts {
				results = append(results, part.ID)
			}
			check.Same(t, "sent", got, tt.want)
			check.Same(t, "results", results, []string{"1", "2", "3", "4", "5", "6"})
		})
	}
}
