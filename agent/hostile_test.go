package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// hostile is a run among hostile tools, servers, models and stores.
type hostile struct {
	tool  sdk.ToolHandler // "x"
	model step            // default: calls "x" until it may not
	opts  agent.Options
	store func(context.Context) error // what a store comes to at its fourth write

	stop     agent.StopReason // of a run with an answer
	patience time.Duration    // after which the host gives up; default: long
	err      string           // in the error of another one
	told     string           // in the last result that the model reads
	bytes    int              // bound of the run's JSON; default 1 MiB
	slow     bool             // it is checked for one provider
}

// loops asks for the same tool until it may not, and many for n calls.
func loops(name, arguments string) step { return untilFinal(toolCall("", name, arguments)) }

func many(n int) step { return untilFinal(slices.Repeat([]run.Part{toolCall("", "x", "{}")}, n)...) }

func gives(r *sdk.CallToolResult) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return r, nil }
}

func parts(n int, c sdk.Content) *sdk.CallToolResult {
	r := &sdk.CallToolResult{}
	for range n {
		r.Content = append(r.Content, c)
	}
	return r
}

// asking is a tool that asks n things at once, again and again.
func asking(n int, state string) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{}, RequestState: state}
		for i := range n {
			r.InputRequests[fmt.Sprint("q", i)] = &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
		}
		return r, nil
	}
}

func accepts(_ context.Context, q *run.Question) (run.Reply, error) {
	return q.Accept(map[string]any{})
}

func panics(context.Context) error { panic("hostile") }

// fewTurns is for runs whose turns are large.
var fewTurns = agent.Options{Limits: run.Limits{Turns: 8}}

var hostiles = map[string]hostile{
	"a tool that floods":            {slow: true, tool: gives(text(strings.Repeat("flood ", 1<<17))), opts: fewTurns, stop: agent.StopMaxTurns, told: "bytes were cut"},
	"a tool of thousands of parts":  {slow: true, tool: gives(parts(10_000, &sdk.TextContent{Text: "part"})), opts: fewTurns, stop: agent.StopMaxTurns},
	"a tool of thousands of images": {slow: true, tool: gives(parts(1_000, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 100)})), opts: fewTurns, stop: agent.StopMaxTurns},
	"a tool that hangs": {tool: func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, stop: agent.StopMaxFailures, told: "neither an answer nor progress"},
	"endless progress": {tool: func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := 0; ctx.Err() == nil; i++ {
			p := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: strings.Repeat("x", 1000)}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
			time.Sleep(time.Minute)
		}
		return nil, ctx.Err()
	}, stop: agent.StopMaxFailures, told: "no answer within 24h"},
	"a tool that fails for ever": {tool: func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return nil, errors.New("no") }, stop: agent.StopMaxFailures},
	"thousands of questions":     {slow: true, tool: asking(5_000, ""), stop: agent.StopMaxFailures, told: "cannot be read"},
	"more questions than may be": {tool: asking(6, ""), opts: agent.Options{Limits: run.Limits{Questions: 5}}, err: "more than 5 questions are open (Limits.Questions)"},
	"questions without end":      {tool: asking(1, "s"), opts: agent.Options{Person: agent.Person{Reply: accepts}}, stop: agent.StopMaxFailures, told: "more and more input"},
	"a request state of 5 MiB":   {slow: true, tool: asking(1, strings.Repeat("s", 5<<20)), opts: agent.Options{Person: agent.Person{Reply: accepts}}, stop: agent.StopMaxFailures, told: "more data than a run keeps"},

	"a model that loops":               {stop: agent.StopMaxTurns},
	"unknown tools":                    {model: loops("multi_tool_use.parallel", "{}"), stop: agent.StopMaxFailures, told: "there is no tool"},
	"a tool without a name":            {model: loops("", "{}"), stop: agent.StopMaxFailures},
	"a tool with a huge name":          {model: loops(strings.Repeat("é", 100_000), "{}"), stop: agent.StopMaxFailures},
	"broken JSON":                      {model: loops("x", `{"a": [1, 2`+strings.Repeat(`{"b":`, 1000)), stop: agent.StopMaxFailures},
	"arguments that are text":          {model: loops("x", `"\ud800\x`), stop: agent.StopMaxFailures},
	"thousands of calls at once":       {slow: true, model: many(3_000), stop: agent.StopMaxToolCalls, bytes: 3 << 20},
	"more calls than a reply may have": {slow: true, model: many(5_000), err: "reply of the model has 5000 calls, and may have 4096"},
	"calls at the limit": {
		model: uses(toolCall("", "x", "{}")), err: `run agent: turn 21: model gave no output: at the limit max_turns (Limits.Turns) it asked for tools ("x"), which it may not call any more`,
	},
	"empty replies": {model: says(""), err: "neither text nor tool calls"},
	"no reply":      {model: func(context.Context, prompt) (*model.Response, error) { return nil, nil }, err: "ended without a reply"},
	"endless deltas": {slow: true, model: func(ctx context.Context, p prompt) (*model.Response, error) {
		for chunk := strings.Repeat("x", 1<<16); ; {
			if err := p.Stream(model.Delta{Text: chunk}); err != nil {
				return nil, err
			}
		}
	}, err: "longer than"},
	"a huge reply": {slow: true, model: func(ctx context.Context, p prompt) (*model.Response, error) {
		return says(strings.Repeat("x", 40<<20))(ctx, p)
	}, err: "longer than"},
	"a model that hangs": {model: func(ctx context.Context, _ prompt) (*model.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, patience: time.Hour, err: "deadline exceeded"},

	"a hook that panics before the model": {opts: agent.Options{Hooks: []agent.Hook{{BeforeModel: func(ctx context.Context, _ *agent.State, _ *model.Request) error { return panics(ctx) }}}}, err: "before the model: hook panicked: hostile"},
	"a hook that panics after the model":  {opts: agent.Options{Hooks: []agent.Hook{{AfterModel: func(ctx context.Context, _ *agent.State, _ *run.Message) error { return panics(ctx) }}}}, err: "after the model: hook panicked: hostile"},
	"a hook that panics before a tool":    {opts: agent.Options{Hooks: []agent.Hook{{BeforeTool: func(ctx context.Context, _ *agent.State, _ *agent.Call) error { return panics(ctx) }}}}, err: ": hook panicked: hostile"},
	"a hook that panics after a tool":     {opts: agent.Options{Hooks: []agent.Hook{{AfterTool: func(ctx context.Context, _ *agent.State, _ *agent.Call, _ *run.Part) error { return panics(ctx) }}}}, err: ": hook panicked: hostile"},

	"a compactor that panics": {opts: agent.Options{Compact: func(ctx context.Context, _ []run.Message, _ compact.Budget) (*compact.Result, error) {
		return nil, panics(ctx)
	}}, stop: agent.StopMaxTurns},
	"a host that panics at instructions": {opts: agent.Options{ServerInstructions: func(string) bool { panic("hostile") }}, err: "ServerInstructions panicked: hostile"},

	"a store that fails":  {store: func(context.Context) error { return errFull }, err: "disk full"},
	"a store that hangs":  {store: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, patience: time.Hour, err: "deadline exceeded"},
	"a store that panics": {store: panics, err: "the store panicked: hostile"},
}

// TestHostile has each run end within its limits and say why, in a bubble that notices goroutines that are left. Its
// history is valid for each provider, and it takes another input.
func TestHostile(t *testing.T) {
	for name, tt := range hostiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.test)
		})
	}
}

func (h *hostile) test(t *testing.T) {
	memory := record.NewMemory()
	opts := h.opts
	opts.Durable.Store = memory
	if h.store != nil {
		opts.Durable.Store = (&dying{at: 4, die: h.store}).in(memory)
	}
	model := play(h.step()).streaming()
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(h.patience, 1000*time.Hour))
	defer cancel()
	got, err := h.agent(t, model, opts).Run(ctx, human("go"), agent.WithRun(theRun.ID))
	switch {
	case h.err == "" && (err != nil || got.Status != run.StatusFinished || got.StopReason != h.stop):
		t.Fatalf("got %s, %q, %v, want to stop with %q", got.Status, got.StopReason, err, h.stop)
	case h.err != "" && (err == nil || !strings.Contains(err.Error(), h.err) || len(err.Error()) > 8<<10):
		t.Fatalf("got %.1000v, want %q", err, h.err)
	}
	told := last(got.Messages)
	check.That(t, strings.Contains(told, h.told), "the model is told %.300q, want %q", told, h.told)
	h.valid(t, model)
	data, err := json.Marshal(got.State)
	check.That(t, err == nil && len(data) <= max(h.bytes, 1<<20), "the run has %d bytes, %v", len(data), err)
	opts.Durable.Store, opts.Hooks, opts.ServerInstructions = memory, nil, nil
	// It takes another input, with a model that answers. If it is not over, it comes to its end before.
	model = play(says("fine"))
	a := h.agent(t, model, opts)
	if !load(t, memory, theRun).Head.Status.Ended() {
		resumed(t, a)
	}
	check.Equal(t, "answer to the next input", mustRun(t, a, human("and?"), agent.WithRun(theRun.ID)).Output, "fine")
	h.valid(t, model)
}

func (h *hostile) step() step {
	if h.model == nil {
		return loops("x", "{}")
	}
	return h.model
}

func (h *hostile) agent(t *testing.T, model *script, opts agent.Options) *agent.Agent {
	s := emptyServer()
	if h.tool == nil {
		h.tool = gives(text("ok"))
	}
	s.addTool("x", h.tool)
	return withTools(t, model, s.box(t, nil), &opts)
}

// A run keeps 64 MiB of what servers ask since the last input, in whatever process.
func TestRoundsOfARun(t *testing.T) {
	const bound = 64 << 20
	for name, told := range map[string]string{"under": "Error: the tool asked for more and more input", "over": "asked for input with more data than a run keeps"} {
		synctestRun(t, name, func(t *testing.T) {
			h := &hostile{tool: asking(1, strings.Repeat("s", 1000))}
			model := play(uses(toolCall("", "x", "{}")), says("done"))
			got := mustRun(t, h.agent(t, model, agent.Options{}), human("go"))
			kept := agent.Inside(got.State).Spent.RoundBytes
			q := questions(t, got, 1, run.QuestionForm)[0]
			within(t, "bytes that are kept", kept, 1000, bound)
			if name == "over" {
				agent.Inside(got.State).Spent.RoundBytes = bound - kept + 1
			}
			state, answer := got.State, accepted(t, q, map[string]any{})
			played(t, h.agent(t, model, agent.Options{Person: agent.Person{Reply: accepts}}).ResumeStateEvents(t.Context(), state, answer))
			said := last(state.History()[:len(state.History())-1])
			check.That(t, strings.Contains(said, told) && state.Usage().RoundBytes <= bound, "the model is told %.300q, and %d bytes are kept", said, state.Usage().RoundBytes)
		})
	}
}

func last(messages []run.Message) (text string) {
	for _, text = range results(messages) {
	}
	return text
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// valid checks what providers refuse in the requests of a model.
func (h *hostile) valid(t *testing.T, m *script) {
	dialects := []string{"openai", "anthropic", "google", "mistral"}
	if h.slow {
		dialects = dialects[3:] // which takes the least
	}
	for _, p := range m.prompts() {
		for _, dialect := range dialects {
			got := new(keeper)
			p.Request.Scratch = nil
			for range each(t, lc.Model(got, &lc.ModelOptions{Dialect: dialect}).Generate(t.Context(), &p.Request)) {
			}
			valid(t, dialect, got.messages)
		}
	}
}

// keeper is a model of langchaingo that keeps the messages that it gets.
type keeper struct {
	llms.Model
	messages []llms.MessageContent
}

func (k *keeper) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	k.messages = messages
	return &llms.ContentResponse{}, nil
}

// valid checks for calls without their results, results without calls, empty messages, and bad names and arguments.
func valid(t *testing.T, dialect string, messages []llms.MessageContent) {
	t.Helper()
	open := map[string]bool{}
	var before llms.ChatMessageType
	for i, m := range messages {
		check.Require(t, m.Role == llms.ChatMessageTypeTool || m.Role == llms.ChatMessageTypeAI || len(open) == 0,
			"message %d of %s follows %d calls without results", i, m.Role, len(open))
		check.Require(t, dialect != "mistral" || before != llms.ChatMessageTypeTool || m.Role != llms.ChatMessageTypeHuman,
			"message %d of a human follows a result", i)
		before = m.Role
		check.Require(t, len(m.Parts) != 0, "message %d of %s is empty", i, m.Role)
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llms.TextContent:
				check.Require(t, dialect != "anthropic" || strings.TrimSpace(p.Text) != "", "message %d of %s has no text", i, m.Role)
			case llms.ToolCall:
				var object map[string]any
				_ = json.Unmarshal([]byte(p.FunctionCall.Arguments), &object)
				check.Require(t, p.ID != "" && !open[p.ID] && plainName.MatchString(p.FunctionCall.Name) && object != nil,
					"message %d has the call %.300v", i, p)
				open[p.ID] = true
			case llms.ToolCallResponse:
				check.Require(t, open[p.ToolCallID] && plainName.MatchString(p.Name), "message %d has a result of the call %.300v", i, p)
				delete(open, p.ToolCallID)
			}
		}
	}
	check.Equal(t, "calls at the end without results", len(open), 0)
}

// An agent that calls itself, as a sub-agent would, comes to Limits.Depth.
func TestAgentCallsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a *agent.Agent
		var deepest error
		type task struct{ Task string }
		self := adapter.Func("self", "Does a task.", func(ctx context.Context, in task) (string, error) {
			got, err := a.Run(ctx, human(in.Task))
			if err != nil && deepest == nil {
				deepest = err
			}
			return got.Output, err
		}, nil)
		model := play(onInput(uses(toolCall("1", "self", `{"Task":"again"}`)), says("enough")))
		a = newAgent(t, model, &agent.Options{Tools: []adapter.Source{self}})
		check.Same(t, "answer, and calls of the model", []any{mustRun(t, a, human("go")).Output, len(model.prompts())}, []any{"enough", 10})
		check.Text(t, deepest, "Limits.Depth")
	})
}
