package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
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
			got, result, err := agent.RunAs[weatherReport](t.Context(), boxed(t, play(tt.steps...), &tt.opts), human("go"))
			check.That(t, errors.Is(err, tt.err) && (tt.err != nil || got == (weatherReport{"Oslo", 7})) && result.Usage.Turns == tt.turns, "got %+v, %v after %d turns", got, err, result.Usage.Turns)
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
		"no JSON":   "7 degrees",
	} {
		model := play(says(words), good)
		got, _, err := agent.RunAs[weatherReport](t.Context(), newAgent(t, model, nil), human("go"))
		check.Same(t, name, []any{got, err}, []any{weatherReport{"Oslo", 7}, nil})
		told := lines(model.prompts()[1].Request.Messages)
		want := `human: "Your last message was text, which is not read, also if it has JSON in it. Give your answer now, by calling the tool final_answer."`
		check.Same(t, name, told[len(told)-1], want)
	}
}

// A type that no model can write is an error before the model is called.
func TestAsOfOtherTypes(t *testing.T) {
	model, ctx := play(says("x")), t.Context()
	a := newAgent(t, model, nil)
	_, result, noField := agent.RunAs[struct{ C chan int }](ctx, a, human("go"))
	for name, err := range map[string]error{
		"int": errorOf3(agent.RunAs[int](ctx, a, human("go"))), "string": errorOf3(agent.RunAs[string](ctx, a, human("go"))),
		"[]int": errorOf3(agent.RunAs[[]int](ctx, a, human("go"))), "field": noField,
	} {
		check.Text(t, err, "structured answer", name)
	}
	check.Same(t, "calls of the model, and whether there is a result", []any{len(model.prompts()), result != nil}, []any{0, true})
}

// A tool of the host may have the name of the tool by which the model answers, and its server the label of ours.
func TestAsBesideAnotherFinalAnswer(t *testing.T) {
	for label, theirs := range map[string]string{"box": "box__final_answer", "answer": "final_answer"} {
		t.Run(label, func(t *testing.T) {
			s := newServer()
			s.addTool("final_answer", gives(text("theirs")))
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
				last := told[len(told)-1]
				check.That(t, strings.Contains(last, "the tool "+ours+".") && ours != theirs, "the model is told %s; the tools are %q and %q", last, ours, theirs)
				return uses(toolCall("2", ours, `{"city":"Oslo","degree":7}`))(ctx, p)
			})
			got, _, err := agent.RunAs[weatherReport](t.Context(), withTools(t, model, toolset, &agent.Options{Limits: run.Limits{Turns: 2}}), human("go"))
			check.Same(t, "answer", []any{got, err}, []any{weatherReport{"Oslo", 7}, nil})
		})
	}
}

// The schema is of one input: the next one may ask for words, which are not a structured answer.
func TestAsInASession(t *testing.T) {
	store := record.NewMemory()
	good := uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))
	a, _ := process(t, store, play(says("hello"), good, says("in words")), agent.Options{})
	answers(t, a, "hello", agent.WithRun(theRun.ID))
	report, _, err := agent.RunAs[weatherReport](t.Context(), a, human("go"), agent.WithRun(theRun.ID))
	check.Same(t, "structured answer", []any{report.City, err}, []any{"Oslo", nil})
	answers(t, a, "in words", agent.WithRun(theRun.ID))
}

// birthday fits more than its schema says.
type birthday struct {
	Day time.Time `json:"day"`
}

// An answer that fits the schema and not the type is told to the model.
func TestAsFitsTheType(t *testing.T) {
	model := play(uses(toolCall("1", "final_answer", `{"day":"soon"}`)), uses(toolCall("2", "final_answer", `{"day":"2026-11-01T00:00:00Z"}`)))
	got, _, err := agent.RunAs[birthday](t.Context(), newAgent(t, model, nil), human("go"))
	check.Same(t, "year", []any{got.Day.Year(), err}, []any{2026, nil})
}

func at(t *testing.T, host, name string, w openai.HTTPDoer) *openaimodel.Model {
	t.Helper()
	return atHost(t, "x", w, name, openaimodel.Options{Host: host})
}

func atHost(t testing.TB, key string, w openai.HTTPDoer, name string, opts openaimodel.Options) *openaimodel.Model {
	t.Helper()
	cfg := openai.DefaultConfig(key)
	cfg.HTTPClient = w
	return check.Value(openaimodel.New(cfg, name, &opts))(t)
}

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
		"refused":       {[]string{`{"role":"assistant","content":null,"refusal":"No."}`, good}, run.Limits{}, "", agent.ErrNoOutput, "go"},
		"at a limit":    {[]string{calls, good}, run.Limits{Turns: 1}, agent.StopMaxTurns, nil, "Answer now"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &memhttp.Wire{}
			for _, r := range tt.replies {
				w.Replies = append(w.Replies, replying(r))
			}
			a := boxed(t, at(t, "openai", "gpt-4.1", w), &agent.Options{Limits: tt.limits})
			got, result, err := agent.RunAs[forecast](t.Context(), a, human("go"))
			check.That(t, errors.Is(err, tt.err) && (tt.err != nil || got == (forecast{City: "Oslo"})) && result.StopReason == tt.stop, "got %+v, stop %q, %v", got, result.StopReason, err)
			check.Same(t, "format", w.Requests[0]["response_format"], decode(t, `{"type":"json_schema","json_schema":{"name":"final_answer","strict":true,
				"schema":{"type":"object","properties":{"city":{"type":"string"},"wind":{"type":["integer","null"]}},"required":["city","wind"],"additionalProperties":false}}}`))
			check.Equal(t, "there is a tool for the answer", strings.Contains(jsonOf(w.Requests[0]["tools"]), "final_answer"), false)
			messages := w.Requests[len(w.Requests)-1]["messages"].([]any)
			check.Contains(t, "what the model is told", jsonOf(messages[len(messages)-1]), tt.last)
			switch name {
			case "only in words":
				check.Equal(t, "requests, two of them repairs", len(w.Requests), 3)
			case "refused":
				check.Text(t, err, `it refused to answer: "No."`)
			}
		})
	}
}

// A reply that the host withholds has been paid for. The run has the kind of the failure, and the reason.
func TestWithheldReplyCounts(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{`{"choices":[{"finish_reason":"content_filter","message":{}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`}}
	result, err := newAgent(t, at(t, "openai", "gpt-4.1", w), nil).Run(t.Context(), human("go"))
	check.Is(t, err, agent.ErrNoOutput)
	check.Text(t, err, `it refused to answer: "chat completion at`)
	failed, _ := errors.AsType[*model.Error](err)
	check.That(t, failed != nil && failed.Kind == model.ErrorRefused, "got %#v, want a refusal", failed)
	check.Same(t, "tokens and requests", []int{int(result.Usage.Total), len(w.Requests)}, []int{5, 1})
}

// The output of a typed run is JSON of the type, also for a program that resumes it without the type, and if it had to be mended.
func TestOutputOfAMendedText(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{replying(`{"role":"assistant","content":"{\"city\":\"Oslo\",\"wind\":\"7\"}"}`)}}
	want, result, err := agent.RunAs[forecast](t.Context(), newAgent(t, at(t, "openai", "gpt-4.1", w), nil), human("go"))
	check.Must(t, err)
	var got forecast
	check.NoError(t, json.Unmarshal([]byte(result.Output), &got), result.Output)
	check.Same(t, "output", got, want)
	check.Equal(t, "what the model said", result.Messages[len(result.Messages)-1].Text(), `{"city":"Oslo","wind":"7"}`)
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
		{"groq", "m", "never", false, false, false}, {"compatible", "m", "always", true, false, true},
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
		request, tools := w.Requests[0], jsonOf(w.Requests[0]["tools"])
		check.That(t, err == nil && (request["response_format"] != nil) == tt.byFormat && strings.Contains(tools, "final_answer") != tt.byFormat,
			"%+v: got %v, the format %v and the tools %s", tt, err, request["response_format"], tools)
	}
}
