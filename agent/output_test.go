package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

type weatherReport struct {
	City   string `json:"city"`
	Degree int    `json:"degree"`
}

func TestAs(t *testing.T) {
	good := uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))
	for name, tt := range map[string]struct {
		steps []step
		opts  agent.Options
		turns int
		err   error
	}{
		"at once":       {[]step{good}, agent.Options{}, 1, nil},
		"after a tool":  {[]step{uses(toolCall("1", "echo", "{}")), good}, agent.Options{}, 2, nil},
		"does not fit":  {[]step{uses(toolCall("f", "final_answer", `{"city":1}`)), good}, agent.Options{}, 2, nil},
		"in words":      {[]step{says("7 degrees"), good}, agent.Options{}, 2, nil},
		"only in words": {[]step{says("7 degrees")}, agent.Options{}, 3, agent.ErrNoOutput},
		"never fits":    {[]step{uses(toolCall("", "final_answer", `{"city":1}`))}, agent.Options{Limits: run.Limits{Turns: 3}}, 4, agent.ErrNoOutput},
		"at a limit":    {[]step{uses(toolCall("", "nothing", "{}")), good}, agent.Options{Limits: run.Limits{Turns: 1}}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, nil)
			model := play(tt.steps...)
			got, result, err := agent.RunAs[weatherReport](t.Context(), withTools(t, model, toolset, &tt.opts), human("go"))
			if !errors.Is(err, tt.err) || tt.err == nil && got != (weatherReport{"Oslo", 7}) || result.Usage.Turns != tt.turns {
				t.Errorf("got %+v, %v after %d turns", got, err, result.Usage.Turns)
			}
			if name == "in words" {
				if p := lines(model.prompts()[1].Request.Messages); !strings.Contains(p[len(p)-1], "final_answer") {
					t.Errorf("the model is asked again with %s", p[len(p)-1])
				}
			}
		})
	}
}

// A model that answers in words is told how to answer.
func TestAsInWords(t *testing.T) {
	good := uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))
	for name, words := range map[string]string{
		"fenced":    "```json\n{\"city\":\"Oslo\",\"degree\":7}\n```",
		"commented": "Here it is:\n{\"city\":\"Oslo\",\"degree\":7} // in Celsius",
		"bare":      `{"city":"Oslo","degree":7}`,
	} {
		model := play(says(words), good)
		got, _, err := agent.RunAs[weatherReport](t.Context(), newAgent(t, model, nil), human("go"))
		if err != nil || got.City != "Oslo" {
			t.Fatalf("%s: got %+v, %v", name, got, err)
		}
		told := lines(model.prompts()[1].Request.Messages)
		want := `human: "Your last message was text, which is not read, also if it has JSON in it. Give your answer now, by calling the tool final_answer."`
		diff(t, name, told[len(told)-1], want)
	}
}

// A type that no model can write is an error before the model is called.
func TestAsOfOtherTypes(t *testing.T) {
	model := play(says("x"))
	a := newAgent(t, model, nil)
	as := map[string]func() error{
		"int":     func() error { _, _, err := agent.RunAs[int](t.Context(), a, human("go")); return err },
		"string":  func() error { _, _, err := agent.RunAs[string](t.Context(), a, human("go")); return err },
		"[]int":   func() error { _, _, err := agent.RunAs[[]int](t.Context(), a, human("go")); return err },
		"resumed": func() error { _, _, err := agent.ResumeAs[int](t.Context(), a, theRun); return err },
		"field": func() error {
			_, r, err := agent.RunAs[struct{ C chan int }](t.Context(), a, human("go"))
			if r == nil {
				t.Error("the result is nil")
			}
			return err
		},
	}
	for name, f := range as {
		if err := f(); err == nil || !strings.Contains(err.Error(), "structured answer") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := len(model.prompts()); n > 0 {
		t.Errorf("the model was called %d times", n)
	}
}

// A tool of the host may have the name of the tool by which the model answers, and its server
// the label of ours.
func TestAsBesideAnotherFinalAnswer(t *testing.T) {
	for label, theirs := range map[string]string{"box": "box__final_answer", "answer": "final_answer"} {
		t.Run(label, func(t *testing.T) {
			s := newServer()
			s.addTool("final_answer", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("theirs"), nil })
			toolset := openAll(t, nil, adapter.Server{Name: label, Transport: s.connect(t)})
			var ours string
			model := play(func(ctx context.Context, p prompt) (*model.Response, error) {
				for _, d := range p.Request.Tools {
					if strings.Contains(d.Description, "final answer") {
						ours = d.Name
					} else if strings.HasSuffix(d.Name, "final_answer") {
						theirs = d.Name
					}
				}
				return uses(toolCall("1", theirs, `{"city":"Bergen","degree":1}`))(ctx, p)
			}, says("7 degrees"), func(ctx context.Context, p prompt) (*model.Response, error) {
				told := lines(p.Request.Messages)
				if last := told[len(told)-1]; !strings.Contains(last, "the tool "+ours+".") || ours == theirs {
					t.Errorf("the model is told %s; the tools are %q and %q", last, ours, theirs)
				}
				return uses(toolCall("2", ours, `{"city":"Oslo","degree":7}`))(ctx, p)
			})
			got, _, err := agent.RunAs[weatherReport](t.Context(), withTools(t, model, toolset, &agent.Options{Limits: run.Limits{Turns: 2}}), human("go"))
			if err != nil || got.City != "Oslo" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// A type that has changed since is an error at once: the model is not called, and the run waits
// as before.
func TestResumeAsAnotherType(t *testing.T) {
	type described struct {
		City   string `json:"city" jsonschema:"The name of the city"`
		Degree int    `json:"degree"`
	}
	type changed struct {
		City   string `json:"city"`
		Degree string `json:"degree"`
	}
	store := record.NewMemory()
	opts := agent.Options{Person: agent.Person{Approve: agent.AskPerson}}
	first, _ := process(t, store, play(uses(toolCall("1", "echo", "{}"))), opts)
	_, got, err := agent.RunAs[weatherReport](t.Context(), first, human("go"), agent.WithRun(theRun.ID))
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatalf("got %+v, %v", got, err)
	}
	second, _ := process(t, store, play(uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))), opts)
	_, _, err = agent.ResumeAs[changed](t.Context(), second, theRun, got.Questions[0].Allow())
	if err == nil || !strings.Contains(err.Error(), "another schema than that of type agent_test.changed") {
		t.Errorf("got %v, want an error about the type", err)
	}
	if asks, err := second.Questions(t.Context(), theRun); err != nil || len(asks) != 1 {
		t.Errorf("got %v, %v, want the question open", asks, err)
	}
	report, _, err := agent.ResumeAs[described](t.Context(), second, theRun, got.Questions[0].Deny("no"))
	if err != nil || report.City != "Oslo" {
		t.Errorf("with other descriptions: got %+v, %v", report, err)
	}
	type other struct{ Price int }
	if got, _, err := agent.ResumeAs[other](t.Context(), second, theRun); err == nil || !strings.Contains(err.Error(), "another schema than that of type agent_test.other") {
		t.Errorf("of a finished run: got %+v, %v, want an error about the type", got, err)
	}
}

// The schema is of one input: the next one may ask for words, which are not a structured answer.
func TestAsInASession(t *testing.T) {
	store := record.NewMemory()
	good := uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))
	a, _ := process(t, store, play(says("hello"), good, says("in words")), agent.Options{})
	if got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID)); err != nil || got.Output != "hello" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if report, _, err := agent.RunAs[weatherReport](t.Context(), a, human("go"), agent.WithRun(theRun.ID)); err != nil || report.City != "Oslo" {
		t.Fatalf("got %+v, %v", report, err)
	}
	if got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID)); err != nil || got.Output != "in words" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, _, err := agent.ResumeAs[weatherReport](t.Context(), a, theRun); err == nil || !strings.Contains(err.Error(), "RunAs did not begin it") {
		t.Errorf("got %v", err)
	}
}

// birthday fits more than its schema says.
type birthday struct {
	Day time.Time `json:"day"`
}

// An answer that fits the schema and not the type is told to the model.
func TestAsFitsTheType(t *testing.T) {
	model := play(uses(toolCall("1", "final_answer", `{"day":"soon"}`)), uses(toolCall("2", "final_answer", `{"day":"2026-11-01T00:00:00Z"}`)))
	got, _, err := agent.RunAs[birthday](t.Context(), newAgent(t, model, nil), human("go"))
	if err != nil || got.Day.Year() != 2026 {
		t.Errorf("got %v, %v", got, err)
	}
}

// at makes a model at a host, behind a client.
func at(t *testing.T, host, name string, w openai.HTTPDoer) *openaimodel.Model {
	t.Helper()
	return atHost(t, "x", w, name, openaimodel.Options{Host: host})
}

func atHost(t testing.TB, key string, w openai.HTTPDoer, name string, opts openaimodel.Options) *openaimodel.Model {
	t.Helper()
	cfg := openai.DefaultConfig(key)
	cfg.HTTPClient = w
	m, err := openaimodel.New(cfg, name, &opts)
	check(t, err)
	return m
}

// replying is the body of a host's reply with that message.
func replying(message string) string {
	return `{"model":"m","choices":[{"finish_reason":"stop","message":` + message + `}]}`
}

// forecast is an answer that may leave out a member, which the strict subset cannot say.
type forecast struct {
	City string `json:"city"`
	Wind *int   `json:"wind,omitempty"`
}

// If the host holds text to a schema, the answer is the text, and there is no tool for it.
func TestAsByFormat(t *testing.T) {
	const good = `{"role":"assistant","content":"{\"city\":\"Oslo\",\"wind\":null}"}`
	calls := `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"echo","arguments":"{}"}}]}`
	words := `{"role":"assistant","content":"It is windy."}`
	for name, tt := range map[string]struct {
		replies []string
		limits  run.Limits
		stop    agent.StopReason
		err     error
		last    string // of the last request: what the model is told
	}{
		"at once":       {[]string{good}, run.Limits{}, agent.StopOutput, nil, "go"},
		"after a tool":  {[]string{calls, good}, run.Limits{}, agent.StopOutput, nil, "tool_call_id"},
		"does not fit":  {[]string{`{"role":"assistant","content":"{\"city\":1,\"wind\":[]}"}`, good}, run.Limits{}, agent.StopOutput, nil, "wind"},
		"in words":      {[]string{words, words, good}, run.Limits{}, agent.StopOutput, nil, "not a JSON object"},
		"only in words": {[]string{words}, run.Limits{}, "", agent.ErrNoOutput, "not a JSON object"},
		"at a limit":    {[]string{calls, good}, run.Limits{Turns: 1}, agent.StopMaxTurns, nil, "Answer now"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &memhttp.Wire{}
			for _, r := range tt.replies {
				w.Replies = append(w.Replies, replying(r))
			}
			toolset, _ := open(t, nil)
			a := withTools(t, at(t, "openai", "gpt-4.1", w), toolset, &agent.Options{Limits: tt.limits})
			got, result, err := agent.RunAs[forecast](t.Context(), a, human("go"))
			if !errors.Is(err, tt.err) || tt.err == nil && got != (forecast{City: "Oslo"}) || result.StopReason != tt.stop {
				t.Errorf("got %+v, stop %q, %v", got, result.StopReason, err)
			}
			diff(t, "format", w.Requests[0]["response_format"], decode(t, `{"type":"json_schema","json_schema":{"name":"final_answer","strict":true,
				"schema":{"type":"object","properties":{"city":{"type":"string"},"wind":{"type":["integer","null"]}},"required":["city","wind"],"additionalProperties":false}}}`))
			if tools, _ := json.Marshal(w.Requests[0]["tools"]); strings.Contains(string(tools), "final_answer") {
				t.Errorf("the tools are %s, want no final_answer", tools)
			}
			last := w.Requests[len(w.Requests)-1]
			if said, _ := json.Marshal(last["messages"].([]any)[len(last["messages"].([]any))-1]); !strings.Contains(string(said), tt.last) {
				t.Errorf("the model is told %s, want %q in it", said, tt.last)
			}
			if name == "only in words" && len(w.Requests) != 3 {
				t.Errorf("got %d requests, want two repairs", len(w.Requests))
			}
		})
	}
}

// Hosts that make a grammar of the schema hold the text to it if there are no tools, and the program may say otherwise.
// Other hosts, and schemas outside of the strict subset, have the tool.
func TestAsByToolWhereThereIsNoFormat(t *testing.T) {
	text := replying(`{"role":"assistant","content":"{\"city\":\"Oslo\",\"wind\":null}"}`)
	tool := replying(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"final_answer","arguments":"{\"city\":\"Oslo\"}"}}]}`)
	type open struct {
		City string         `json:"city"`
		More map[string]any `json:"more,omitempty"` // of any names
	}
	for _, tt := range []struct {
		host, model, policy   string
		tools, open, byFormat bool
	}{
		{"llamacpp", "m", "", false, false, true}, {"ollama", "m", "auto", false, false, true}, {"llamacpp", "m", "", true, false, false},
		{"llamacpp", "m", "never", false, false, false}, {"compatible", "m", "always", false, false, true}, {"compatible", "m", "always", true, false, true},
		{"compatible", "gpt-4.1", "", false, false, false}, {"openai", "gpt-4-turbo", "", false, false, false}, {"openai", "gpt-4.1", "", false, true, false},
	} {
		w := &memhttp.Wire{Replies: []string{tool}}
		if tt.byFormat {
			w.Replies[0] = text
		}
		opts := &agent.Options{}
		if tt.tools {
			opts.Tools = []adapter.Source{aLibrary()}
		}
		a := newAgent(t, atHost(t, "x", w, tt.model, openaimodel.Options{Host: tt.host, Format: tt.policy}), opts)
		var err error
		if tt.open {
			err = errorOf3(agent.RunAs[open](t.Context(), a, human("go")))
		} else {
			err = errorOf3(agent.RunAs[forecast](t.Context(), a, human("go")))
		}
		request := w.Requests[0]
		tools, _ := json.Marshal(request["tools"])
		if err != nil || (request["response_format"] != nil) != tt.byFormat || strings.Contains(string(tools), "final_answer") == tt.byFormat {
			t.Errorf("%+v: got %v, the format %v and the tools %s", tt, err, request["response_format"], tools)
		}
	}
}
