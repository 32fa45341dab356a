package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/mcptest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// unasked installs handlers that must not be called.
func unasked(t *testing.T) mcpclient.Options {
	o := asks(modern())
	o.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		t.Error("the sampling handler was called")
		return nil, errors.New("not expected")
	})
	o.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		t.Error("the elicitation handler was called")
		return nil, errors.New("not expected")
	})
	return o
}

func round(t *testing.T, err error) *mcp.InputRequired {
	t.Helper()
	return wantError[*mcp.InputRequired](t, err)
}

// readAgain returns what a round is after it was stored.
func readAgain(t *testing.T, r *mcp.InputRequired) *mcp.InputRequired {
	t.Helper()
	stored := check.Value(json.Marshal(r))(t)
	restored := new(mcp.InputRequired)
	check.Must(t, json.Unmarshal(stored, restored))
	return restored
}

// A round survives JSON and can be continued by another client.
func TestManualInput(t *testing.T) {
	manual := mcpclient.WithManualInput()
	synctest.Test(t, func(t *testing.T) {
		transport, opts := mcptest.Read(t, "testdata/manual_modern.txtar"), unasked(t)
		opts.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
		first := connected(t, transport, opts)
		_, err := first.CallTool(t.Context(), "ask", map[string]int{"a": 1}, manual)
		check.Text(t, err, `"llm" (sampling/createMessage), "who" (elicitation/create), "ws" (roots/list)`)
		r := round(t, err)
		who, llm := r.Requests["who"], r.Requests["llm"]
		form, ok := inquiry.Elicitation(&who)
		check.That(t, ok && form.Message == "Name?" && form.Mode == mcp.ElicitForm, "elicitation: got %+v, %v", form, ok)
		completion, ok := inquiry.Sampling(&llm)
		check.That(t, ok && completion.MaxTokens == 50, "sampling: got %+v, %v", completion, ok)
		_, ok = inquiry.Elicitation(&llm)
		check.That(t, !ok, "a sampling request was read as an elicitation")
		answers := map[string]any{"who": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"n": "Ada"}}, "llm": tea()}
		check.Text(t, check.Err(mcpclient.Continue[mcp.CallToolResult](t.Context(), first, r, answers)), `answer "ws": "roots/list" has no answer`, "one answer short")
		answers["ws"] = json.RawMessage(`{"roots": []}`)
		_, err = mcpclient.Continue[mcp.CallToolResult](t.Context(), first, r, answers, manual)
		restored := readAgain(t, round(t, err))
		check.Equal(t, "rounds", restored.Rounds, 2)
		check.NoError(t, first.Close())
		check.Equal(t, "", textOf(mcpclient.Continue[mcp.CallToolResult](t.Context(), connected(t, transport, opts), restored, nil)), "done")
	})
}

// If a handler leaves its answer for later, the call ends with a round that has the answers of the other handlers.
func TestAnswerLater(t *testing.T) {
	opts := asks(modern())
	opts.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return nil, fmt.Errorf("at lunch: %w", mcp.ErrAnswerLater)
	})
	opts.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	playAll(t, []conversation{{name: "later_modern", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		r := readAgain(t, round(t, check.Err(c.CallTool(ctx, "ask", map[string]int{"a": 1}))))
		check.Equal(t, "answers", len(r.Answers), 2)
		for key, want := range r.Answers {
			got, err := mcpclient.AnswerInput(ctx, c, r, key)
			check.That(t, err == nil && string(got) == string(want), "the handlers answer %s: got %s, %v, want %s", key, got, err, want)
		}
		check.Is(t, check.Err(mcpclient.AnswerInput(ctx, c, r, "who")), mcp.ErrAnswerLater, "a handler puts its answer off again")
		check.Text(t, check.Err(mcpclient.AnswerInput(ctx, c, r, "nothing")), "nothing is asked", "an unknown key")
		check.Text(t, check.Err(mcpclient.Continue[mcp.CallToolResult](ctx, c, r, nil)), `answer "who"`, "without the answer")
		check.Equal(t, "", textOf(mcpclient.Continue[mcp.CallToolResult](ctx, c, r, map[string]any{"who": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"n": "Ada"}}})), "done")
	}}})
}

func TestManualInputOfOthers(t *testing.T) {
	manual, opts := mcpclient.WithManualInput(), unasked(t)
	opts.Limits.Rounds = 2
	playAll(t, []conversation{{name: "manual_others_modern", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		r := round(t, check.Err(c.GetPrompt(ctx, "p", map[string]string{"x": "y"}, manual)))
		check.Text(t, check.Err(mcpclient.Continue[mcp.CallToolResult](ctx, c, r, nil)), "prompts/get", "the round of a prompt as that of a tool")
		for name, answers := range map[string]map[string]any{
			"not asked":   {"who": &mcp.ElicitResult{Action: mcp.ElicitDecline}, "else": 1},
			"wrong type":  {"who": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"n": 7}}},
			"no object":   {"who": 7},
			"no answer":   nil,
			"nil pointer": {"who": (*mcp.ElicitResult)(nil)},
		} {
			check.Fails(t, check.Err(mcpclient.Continue[mcp.GetPromptResult](ctx, c, r, answers)), name)
		}
		prompt, err := mcpclient.Continue[mcp.GetPromptResult](ctx, c, r, map[string]any{"who": &mcp.ElicitResult{Action: mcp.ElicitDecline}})
		check.That(t, err == nil && prompt.Description == "d", "prompt: got %+v, %v", prompt, err)

		r = round(t, check.Err(c.ReadResource(ctx, "file:///r", manual)))
		check.That(t, r.Requests == nil, "got %+v, want no requests", r)
		check.NoError(t, check.Err(mcpclient.Continue[mcp.ReadResourceResult](ctx, c, r, nil)))
		check.NoError(t, check.Err(c.ReadResource(ctx, "file:///r")), "not cached")

		roots := map[string]any{"ws": json.RawMessage(`{"roots":[]}`)}
		_, err = c.CallTool(ctx, "t", nil, manual)
		_, err = mcpclient.Continue[mcp.CallToolResult](ctx, c, round(t, err), roots, manual)
		_, err = mcpclient.Continue[mcp.CallToolResult](ctx, c, round(t, err), roots, manual)
		check.Is(t, err, mcpclient.ErrTooManyRounds, "third round of two")
	}}})
}

// The state of a round is returned unchanged, so it must be JSON.
func TestInvalidStateIsNotEchoed(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for _, state := range []string{`"\q"`, "\"a\tb\""} {
			call := goCall(t.Context(), c, "a")
			p.reply(`{"id":%s,"result":{"resultType":"input_required","requestState":%s}}`, state)
			time.Sleep(time.Minute)
			p.quiet()
			check.Is(t, (<-call).err, mcp.ErrInvalidResult)
		}
	})
}

// A server that defers a call asks for no input, and may do so more often than it may ask.
func TestDeferredCall(t *testing.T) {
	opts := modern()
	opts.Limits.Rounds = 1
	playAll(t, []conversation{{name: "put_off_modern", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		start := time.Now()
		callText(t, ctx, c, "t", "done")
		check.Equal(t, "waits", time.Since(start), (250+500+1000)*time.Millisecond)
	}}})
}

// The number and the total time of deferrals are bounded.
func TestDeferralsAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		busy time.Duration // before each answer
		want time.Duration
		text string
	}{
		"prompt": {0, 223750 * time.Millisecond, "33 times within 3m43.75s"},
		"slow":   {time.Minute, 6*time.Minute + 7750*time.Millisecond, "6 times within 5m7.75s"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
				go p.each(func(m message) {
					time.Sleep(test.busy)
					p.send(`{"id":%s,"result":{"resultType":"input_required","requestState":"s"}}`, m.ID)
				})
				start := time.Now()
				wantBoth(t, check.Err(c.CallTool(t.Context(), "t", nil)), mcpclient.ErrTooManyRounds, test.text)
				check.Equal(t, "it took", time.Since(start), test.want)
			})
		})
	}
}

func asksRoots(p *peer, m message, state string) {
	p.send(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{%q:{"method":"roots/list"}},"requestState":%q}}`, m.ID, "of "+state, state)
}

// The questions and the state of one call belong to that call only, which is sent again with a new id and progress token.
func TestRoundsOfParallelCalls(t *testing.T) {
	opts := modern()
	opts.Roots = []mcp.Root{}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		first := map[string]message{}
		for _, tool := range []string{"a", "b"} {
			go callText(t, t.Context(), c, tool, tool, mcpclient.WithMeta("k", json.RawMessage(`"v"`)), mcpclient.WithProgress(func(mcp.Progress) {}))
			first[tool] = p.next()
		}
		for _, tool := range []string{"b", "a"} {
			asksRoots(p, first[tool], tool)
			again := p.next()
			want := `{"of ` + tool + `":{"roots":[]}}`
			check.That(t, again.Params.Name == tool && again.Params.State == tool && string(again.Params.Answers) == want,
				"got %+v, want the state and the answers of %s", again, tool)
			check.That(t, string(again.ID) != string(first["a"].ID) && string(again.ID) != string(first["b"].ID), "got id %s again", again.ID)
			var meta map[string]json.RawMessage
			err := json.Unmarshal(again.Params.Meta, &meta)
			check.That(t, err == nil && string(meta["progressToken"]) == string(again.ID) && string(meta["k"]) == `"v"`, "got _meta %s, want the progress token %s and what the caller added", again.Params.Meta, again.ID)
			p.answer(again)
		}
		synctest.Wait() // for the answers
	})
}

// Between two rounds no request is pending, so that a call cancelled there just ends.
func TestGivenUpBetweenRounds(t *testing.T) {
	asked := make(chan bool)
	opts := samples(modern(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			p.asksModern()
			<-asked
			cancel()
		}()
		check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), context.Canceled)
		p.quiet()
	})
}

// After a round the server may continue the call as a task, whose questions have keys of their own. Null counts as absent.
func TestTaskAfterRound(t *testing.T) {
	opts := modern()
	opts.Roots, opts.Protocol.AllowUndeclared = []mcp.Root{}, true
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			asksRoots(p, p.next(), "s")
			p.reply(`{"id":%s,"result":{"resultType":"task","taskId":"k","status":"working"}}`)
			p.reply(`{"id":%s,"result":{"taskId":"k","status":"input_required","inputRequests":{"of s":{"method":"roots/list"}}}}`)
			if m := p.next(); m.Method != "tasks/update" || string(m.Params.Answers) != `{"of s":{"roots":[]}}` || m.Params.State != "" {
				t.Errorf("got %+v, want the answer to the task", m)
			} else {
				p.send(`{"id":%s,"result":{}}`, m.ID)
			}
			p.reply(`{"id":%s,"result":{"resultType":null,"taskId":"k","status":"input_required","inputRequests":null}}`)
			p.reply(`{"id":%s,"result":{"taskId":"k","status":"completed","result":{"content":[{"type":"text","text":"done"}]}}}`)
		}()
		check.Equal(t, "", textOf(check.Value(c.StartTask(t.Context(), slow, nil, 0))(t).Wait(t.Context())), "done")
	})
}

// The error for a question without a handler names the option; a modern server is told nothing.
func TestUninstalledHandlersAreNamed(t *testing.T) {
	for method, want := range map[string]string{
		"elicitation/create":     "elicitation is not available (Options.Elicitation is not set)",
		"sampling/createMessage": "sampling is not available (Options.Sampling is not set)",
		"roots/list":             "roots are not available (Options.Roots is not set)",
	} {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			call := goCall(t.Context(), c, "a")
			p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"%s","params":{}}}}}`, method)
			got := fmt.Sprint((<-call).err)
			check.That(t, strings.HasSuffix(got, want), "%s: got %s, want %q", method, got, want)
			p.quiet()
		})
	}
}

// An error about a result quotes what the server sent, once.
func TestWordsAboutResults(t *testing.T) {
	for result, want := range map[string]string{
		`{"resultType":"future"}`: `invalid result: resultType "future" is not known`,
		`{"resultType":7}`:        `invalid result: resultType "7" is not known`,
		`{"resultType":"task"}`:   `invalid result: the server made tools/call a task, and only a tool call WithTask may become one`,
		`{"resultType":"input_required","inputRequests":{"1":{}}}`:                     `invalid result: a question of the server: method "" is not available`,
		`{"resultType":"input\u005frequired","inputRequests":{"1":{"method":"a\nb"}}}`: `invalid result: a b of the server: method "a\nb" is not available`,
	} {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			call := goCall(t.Context(), c, "a")
			p.reply(`{"id":%s,"result":%s}`, result)
			check.Text(t, (<-call).err, want, result)
		})
	}
}
