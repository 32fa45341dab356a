package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// tasker is a scripted modern server, at which each call is a task that asks two things: who pays, and then for a completion.
type tasker struct {
	t         *testing.T
	asksFirst bool   // the call asks who pays before it becomes a task, too
	onPoll    func() // called, if set, when the status of the task is requested
	about     string // description of the tool

	mu      sync.Mutex
	calls   int
	updates []string
	cancels int
}

const whoPays = `"pay":{"method":"elicitation/create","params":{"mode":"form","message":"Who pays?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`
const wantsAPoem = `"poem":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"a poem"}}],"maxTokens":9}}`

func (s *tasker) answer(m *testenv.Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	const state = `"resultType":"complete","taskId":"secret","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":86400000,"pollIntervalMs":1000`
	switch m.Method {
	case "server/discover":
		return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	case "tools/list":
		return `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"slow","description":"` + s.about + `","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.calls++
		if s.asksFirst && s.calls == 1 {
			return `"result":{"resultType":"input_required","requestState":"s","inputRequests":{` + whoPays + `}}`
		}
		return `"result":{"resultType":"task","taskId":"secret","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":86400000,"pollIntervalMs":1000}`
	case "tasks/get":
		if s.onPoll != nil {
			s.onPoll()
			return `"result":{"status":"working",` + state + `}`
		}
		switch len(s.updates) {
		case 0:
			return `"result":{"status":"input_required","inputRequests":{` + whoPays + `},` + state + `}`
		case 1:
			return `"result":{"status":"input_required","inputRequests":{` + wantsAPoem + `},` + state + `}`
		}
		return `"result":{"status":"completed","result":{"content":[{"type":"text","text":"paid"}]},` + state + `}`
	case "tasks/update":
		var p struct{ InputResponses json.RawMessage }
		check.NoError(s.t, json.Unmarshal(m.Params, &p))
		if n := len(s.updates); n > 1 || !strings.HasPrefix(string(p.InputResponses), []string{`{"pay":`, `{"poem":`}[n]) {
			s.t.Errorf("the task is told %s, which it does not ask", p.InputResponses)
		}
		s.updates = append(s.updates, string(p.InputResponses))
		return `"result":{"resultType":"complete"}`
	case "tasks/cancel":
		s.cancels++
		return `"result":{"resultType":"complete"}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

// process is an agent with a connection of its own, as another process would have it.
func (s *tasker) process(t *testing.T, model *script, opts agent.Options) *agent.Agent {
	t.Helper()
	transport, conn := mcpclient.Pipe()
	go testenv.Serve(conn, s.answer)
	t.Cleanup(func() { _ = conn.Close() })
	sampler := mcp.SamplingFunc(func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		if _, ok := inquiry.Approved(ctx, p); !ok {
			return nil, fmt.Errorf("the boss is asked: %w", mcp.ErrAnswerLater)
		}
		return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
	})
	toolset := openAll(t, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: sampler}}, adapter.Server{Name: "shop", Transport: transport})
	return withTools(t, model, toolset, &opts)
}

// A call that a server has begun is not called undone because its tool has changed since, or the sub-agent is gone.
func TestBegunCallOfAChangedTool(t *testing.T) {
	const gaveUp = " The call was given up; it may or may not have run."
	for _, asksFirst := range []bool{false, true} {
		synctestRun(t, fmt.Sprintf("asks before it is a task: %v", asksFirst), func(t *testing.T) {
			opts, s := agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}, &tasker{t: t, asksFirst: asksFirst}
			got := asks(t, s.process(t, play(uses(toolCall("1", "slow", "{}"))), opts), 1, run.QuestionForm)
			s.about = "new"
			got = resumed(t, s.process(t, play(says("done")), opts), accepted(t, got.Questions[0], map[string]any{"name": "Ann"}))
			check.Same(t, "results", results(got.Messages), []string{`Error: server "shop" has changed the tool slow since it was offered.` + gaveUp})
		})
	}
	synctestRun(t, "sub-agent", func(t *testing.T) {
		opts := agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}
		helper := sub(t, boxed(t, play(uses(toolCall("1", "ask", "{}"))), nil), agent.NewSubAgent)
		got := asks(t, boss(t, play(uses(toolCall("1", "helper", `{"task":"x"}`))), helper, opts), 1, run.QuestionForm)
		got = resumed(t, newAgent(t, play(says("done")), &opts), accepted(t, got.Questions[0], map[string]any{"name": "Ann"}))
		check.Same(t, "results", results(got.Messages), []string{`Error: server "agent" does not offer the tool helper any more.` + gaveUp})
	})
}

// What a task asks waits in the store, and is answered in other processes. The tool is called once, each question answered once.
func TestTaskAsksInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := record.NewMemory(), &tasker{t: t}
		got := asks(t, s.process(t, play(uses(toolCall("1", "slow", "{}"))), agent.Options{Durable: agent.Durable{Store: store}}), 1, run.QuestionForm)
		within(t, "how long the question is open, as long as the server keeps the task", time.Until(got.Questions[0].Expires), 1, 24*time.Hour)
		ann := accepted(t, got.Questions[0], map[string]any{"name": "Ann"})
		time.Sleep(time.Hour)
		got = resumed(t, s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}), ann)
		review := questions(t, got, 1, run.QuestionSampling)[0]
		check.Equal(t, "tokens of the review", review.Sampling.MaxTokens, 9)
		got = resumed(t, s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}), review.Allow())
		check.Same(t, "result", lines(got.Messages)[2], `tool: 1/slow→"paid"`)
		check.Same(t, "answers", s.updates, []string{
			`{"pay":{"action":"accept","content":{"name":"Ann"}}}`,
			`{"poem":{"role":"assistant","content":{"type":"text","text":"roses"},"model":"m"}}`,
		})
		check.Same(t, "calls and cancellations", []int{s.calls, s.cancels}, []int{1, 0})
	})
}

// A process that ends while it tells the answers leaves them to the next one, which tells the server nothing twice.
func TestTaskAnswerIsToldOnce(t *testing.T) {
	for n := range 10 {
		at, keep := 1+n/2, n%2 == 0
		if at == 1 && !keep {
			continue // there is no answer then
		}
		synctestRun(t, fmt.Sprintf("write %d kept %v", at, keep), func(t *testing.T) {
			store, s := record.NewMemory(), &tasker{t: t}
			got := mustRun(t, s.process(t, play(uses(toolCall("1", "slow", "{}"))), agent.Options{Durable: agent.Durable{Store: store}}), human("go"), agent.WithRun(theRun.ID))
			ann := accepted(t, got.Questions[0], map[string]any{"name": "Ann"})
			dying := (&dying{at: at, keep: keep}).in(store)
			_, _ = s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: dying}}).Resume(t.Context(), theRun, ann)
			time.Sleep(time.Hour)
			third := s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}})
			got = resumed(t, third)
			if got.Status == run.StatusWaiting {
				got = resumed(t, third, got.Questions[0].Allow())
			}
			check.Equal(t, "status", got.Status, run.StatusFinished)
			check.Same(t, "result", lines(got.Messages)[2], `tool: 1/slow→"paid"`)
			check.Same(t, "answers, each once, calls and cancellations", []int{len(s.updates), s.calls, s.cancels}, []int{2, 1, 0})
		})
	}
}

// A call that has asked something before it became a task is awaited in another process as any task: what it asked
// is answered, and is not told to the task.
func TestTaskOfAnsweredCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := record.NewMemory(), &tasker{t: t, asksFirst: true}
		got := asks(t, s.process(t, play(uses(toolCall("1", "slow", "{}"))), agent.Options{Durable: agent.Durable{Store: store}}), 1, run.QuestionForm)
		ctx, cancel := context.WithCancel(t.Context())
		s.onPoll = cancel
		second := s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}})
		_, err := second.Resume(ctx, theRun, accepted(t, got.Questions[0], map[string]any{"name": "Ann"}))
		check.Is(t, err, context.Canceled, "the cancelled process")
		s.onPoll = nil
		time.Sleep(time.Hour)
		got = resumed(t, s.process(t, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}))
		questions(t, got, 1, run.QuestionForm) // of the task
		check.Same(t, "calls and cancellations", []int{s.calls, s.cancels}, []int{2, 0})
	})
}

// Without a store a task's question is answered at hand.
func TestTaskAsksAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tasker{t: t}
		answer := func(_ context.Context, q *run.Question) (run.Reply, error) {
			if q.Kind == run.QuestionForm {
				return q.Accept(map[string]any{"name": "Ann"})
			}
			return q.Allow(), nil
		}
		got := mustRun(t, s.process(t, play(uses(toolCall("1", "slow", "{}")), says("done")), agent.Options{Person: agent.Person{Reply: answer}}), human("go"))
		check.Same(t, "result", lines(got.Messages)[2], `tool: 1/slow→"paid"`)
	})
}
