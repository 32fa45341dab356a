package agenttest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func runAgent(t *testing.T, model agent.Model, server mcpclient.Transport, client *mcpclient.Options) (*agent.Result, error) {
	t.Helper()
	tools := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "s", Transport: server}}, &adapter.Options{ClientOptions: client}))(t)
	defer tools.Close()
	return check.Value(agent.New(model, &agent.Options{Tools: []adapter.Source{tools}}))(t).Run(t.Context(), agent.Text("go"))
}

func TestScriptEnds(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name  string
		model *agenttest.Model
		want  string
	}{
		{"over", agenttest.Play(agenttest.CallTools("none", "{}")), "call 2 of the model: the script has 1 steps"},
		{"empty", agenttest.PlayRepeating(), "call 1 of the model: the script has 0 steps"},
		{"fails", agenttest.Play(func(context.Context, agenttest.Turn) (*model.Response, error) { return nil, boom }), "boom"},
	} {
		check.Text(t, check.Err(runAgent(t, test.model, agenttest.NewServer(), nil)), test.want, test.name)
	}
}

// A tool that cannot be called is a mistake of the test, and told at once.
func TestToolWithoutAFunction(t *testing.T) {
	run := func(context.Context, *agenttest.Call) (string, error) { return "", nil }
	for want, tool := range map[string]agenttest.Tool{`tool 0, "look", has no Run`: {Name: "look"}, "tool 0 has no Name": {Run: run}} {
		check.Text(t, check.Err(agenttest.NewServer(tool).Dial(t.Context())), want)
	}
}

func TestPrompts(t *testing.T) {
	echo := agenttest.Tool{Name: "echo", Run: func(_ context.Context, c *agenttest.Call) (string, error) { return string(c.Arguments), nil }}
	fails := agenttest.Tool{Name: "fails", Run: func(context.Context, *agenttest.Call) (string, error) { return "", errors.New("no paper") }}
	model := agenttest.Play(agenttest.CallTools("echo", `{"a":1}`, "fails", `{}`), agenttest.Say("one two"))
	check.Equal(t, "output", check.Value(runAgent(t, model, agenttest.NewServer(echo, fails), nil))(t).Output, "one two")
	prompts := model.Turns()
	check.Same(t, "tools", prompts[0].Tools(), []string{"echo", "fails"})
	check.Same(t, "results before a call", prompts[0].Results(), []string(nil))
	check.Same(t, "results", prompts[1].Results(), []string{`{"a":1}`, "Error: no paper"})
}

// A tool asks the person and the model while it runs.
func TestServerAsks(t *testing.T) {
	tool := agenttest.Tool{Name: "book", Run: func(ctx context.Context, c *agenttest.Call) (string, error) {
		form, err := c.Elicit(ctx, "For whom?", `{"type":"object","properties":{"name":{"type":"string"}}}`)
		if err != nil {
			return "", err
		}
		poem, err := c.Sample(ctx, "A poem.", 9)
		return string(form.Action) + " " + poem, err
	}}
	client := &mcpclient.Options{
		Elicitation: mcp.ElicitationFunc(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			check.Equal(t, "the person was asked", p.Message, "For whom?")
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}),
		Sampling: mcp.SamplingFunc(func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			check.Equal(t, "tokens", p.MaxTokens, 9)
			return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
		}),
	}
	model := agenttest.Play(agenttest.CallTools("book", "{}"), agenttest.Say("done"))
	check.Must(t, check.Err(runAgent(t, model, agenttest.NewServer(tool), client)))
	check.Same(t, "results", model.Turns()[1].Results(), []string{"decline roses"})
}

// The end of the client's request ends the tool, and the end of the client the server.
func TestServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, ended := make(chan struct{}), make(chan struct{})
		server := agenttest.NewServer(agenttest.Tool{Name: "slow", Run: func(ctx context.Context, _ *agenttest.Call) (string, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		}})
		client := check.Value(mcpclient.Connect(t.Context(), server, nil))(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		check.Is(t, check.Err(client.CallTool(ctx, "slow", nil)), context.Canceled)
		<-ended
		check.NoError(t, client.Close())
	})
}

func TestSayStreams(t *testing.T) {
	var pieces []string
	for d, err := range agenttest.Play(agenttest.Say("one two")).Generate(t.Context(), &model.Request{Stream: true}) {
		check.Must(t, err)
		pieces = append(pieces, d.Text)
	}
	check.Same(t, "pieces", pieces, []string{"one ", "two", ""})
}

// formatted describes a model whose host holds text to a schema.
var formatted = model.Info{NoStreaming: true, Formats: func(bool) bool { return true }}

type day struct {
	Name string `json:"name"`
}

// A step that calls a tool until it has a result calls it once, also if the agent reminds the model of a form, or of a limit.
func TestResultsBehindReminders(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits run.Limits
		say    string
		info   model.Info
		calls  int // of the model
		fails  error
	}{
		{"final_answer", run.Limits{}, "Sunday", model.Info{NoStreaming: true}, 4, agent.ErrNoOutput},
		{"a text that does not fit", run.Limits{}, `{"nome":"Sunday"}`, formatted, 4, agent.ErrNoOutput},
		{"a limit", run.Limits{Turns: 1}, `{"name":"Sunday"}`, formatted, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := agenttest.PlayRepeating(func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
				if len(p.Results()) == 0 {
					return agenttest.CallTools("today", "{}")(ctx, p)
				}
				return agenttest.Say(test.say)(ctx, p)
			}).WithInfo(test.info)
			ran := 0
			tool := adapter.Func("today", "", func(context.Context, struct{}) (string, error) { ran++; return "Sunday", nil }, nil)
			a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{tool}, Limits: test.limits})
			check.Must(t, err)
			_, _, err = agent.RunAs[day](t.Context(), a, agent.Text("Which day is it?"))
			check.Is(t, err, test.fails)
			check.Equal(t, "times that the tool ran", ran, 1)
			prompts := model.Turns()
			check.Equal(t, "calls of the model", len(prompts), test.calls)
			for i, p := range prompts[1:] {
				check.Same(t, i, p.Results(), []string{"Sunday"})
			}
		})
	}
}

// What the user says after an answer asks for new calls.
func TestResultsBehindOthers(t *testing.T) {
	call := run.Message{Role: run.RoleAssistant, Parts: []run.Part{{Type: run.PartCall, ID: "1"}}}
	told := run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "1", Text: "one"}}}
	said := run.Text(run.RoleAssistant, "Done.")
	picture := run.Message{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartImage, MIMEType: "image/png"}}}
	for _, test := range []struct {
		name     string
		messages []run.Message
		want     []string
	}{
		{"the next question", []run.Message{call, told, said, run.Text(run.RoleUser, "And tomorrow?")}, nil},
		{"a picture of the user", []run.Message{call, told, said, picture}, nil},
		{"two results", []run.Message{call, told, call, told, told}, []string{"one", "one"}},
	} {
		check.Same(t, test.name, (&agenttest.Turn{Request: model.Request{Messages: test.messages}}).Results(), test.want)
	}
}

// A call that was recorded sends nothing to a caller whose stream has ended.
func TestShowOnARecordedCall(t *testing.T) {
	m := agenttest.Play(agenttest.Say("a b")).WithInfo(model.Info{})
	for _, err := range m.Generate(t.Context(), &model.Request{Stream: true}) {
		check.Must(t, err)
	}
	check.NoError(t, m.Turns()[0].Stream(model.Delta{Text: "late"}))
}
