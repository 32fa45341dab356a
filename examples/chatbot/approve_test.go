package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

func newPerson(con *console) *person {
	return &person{con: con, answers: answers{}, lacks: &lacks{}, always: map[string]bool{}}
}

// inTurn is the context that handlers have during a turn.
func inTurn(t *testing.T) context.Context { return context.WithValue(t.Context(), turnKey{}, 1) }

func approval(tool string) *agent.Approval {
	return &agent.Approval{Call: agent.Call{Server: "demo", Tool: tool, Name: tool, Arguments: `{"a":1}`}}
}

func TestApprove(t *testing.T) {
	const question = "The model wants to run add on the server demo:\n  {\"a\":1}\nAllow it? [y]es, [n]o, [a]lways: "
	for name, tt := range map[string]struct {
		typed []string
		allow bool
		want  string
	}{
		"yes":     {[]string{"y"}, true, question},
		"no":      {[]string{"No"}, false, question},
		"always":  {[]string{"a"}, true, question},
		"unclear": {[]string{"", "you must not", "yes"}, true, question + strings.Repeat("Allow it? [y]es, [n]o, [a]lways: ", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, tt.typed...)
			d, err := newPerson(s.console).approve(inTurn(t), approval("add"))
			if err != nil || d.Allow != tt.allow {
				t.Errorf("got %+v, %v; want allow %v", d, err, tt.allow)
			}
			s.check(t, tt.want)
		})
	}
}

func TestAlwaysIsForOneTool(t *testing.T) {
	s := newScreen(t, "a", "n")
	p := newPerson(s.console)
	for i, want := range []struct {
		tool  string
		allow bool
	}{{"add", true}, {"add", true}, {"drop", false}} {
		d, err := p.approve(inTurn(t), approval(want.tool))
		if err != nil || d.Allow != want.allow {
			t.Errorf("call %d: got %+v, %v; want allow %v", i, d, err, want.allow)
		}
	}
}

func TestApproveAtEndOfInput(t *testing.T) {
	s := newScreen(t)
	if _, err := newPerson(s.console).approve(inTurn(t), approval("add")); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

func TestApproveWithoutTerminal(t *testing.T) {
	s := newScreen(t)
	s.interactive = false
	d, err := newPerson(s.console).approve(inTurn(t), approval("add"))
	if err != nil || d.Allow || !strings.Contains(d.Reason, "-yes") {
		t.Errorf("got %+v, %v; want a denial that names -yes", d, err)
	}
	s.check(t, "denied demo: tool call add: there is no terminal to ask on; start with -yes to allow it\n")
}

func TestReviewSampling(t *testing.T) {
	request := &sampling.Request{Model: "m", Params: &mcpclient.CreateMessageParams{
		SystemPrompt: "Be \x1b[1mbrief.", MaxTokens: 9,
		Messages: []mcpclient.SamplingMessage{{Role: "user", Content: []mcpclient.Content{
			&mcpclient.TextContent{Text: "Hello"}, &mcpclient.ImageContent{MIMEType: "image/png", Data: make([]byte, 3)},
		}}},
	}}
	reply := &mcpclient.CreateMessageResult{Content: []mcpclient.Content{&mcpclient.TextContent{Text: "Hi"}}}
	const (
		asked = "The server  wants to put this to the model m, for at most 9 tokens:\n" +
			"  system: Be [1mbrief.\n  user: Hello\n  [image image/png, 3 bytes]\n" +
			"Allow it, with its reply? [y]es, [n]o, [s]how me the reply first, [a]lways for this server: "
		shown = "The server  would get this reply of the model:\n  Hi\nAllow it? [y]es, [n]o: "
	)
	for name, tt := range map[string]struct {
		typed          []string
		request, reply error
		screen         string
	}{
		"yes":    {[]string{"y"}, nil, nil, asked},
		"no":     {[]string{"n"}, errRefused, nil, asked},
		"show":   {[]string{"s", "y"}, nil, nil, asked + shown},
		"keep":   {[]string{"s", "n"}, nil, errRefused, asked + shown},
		"always": {[]string{"a"}, nil, nil, asked},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, tt.typed...)
			p := newPerson(s.console)
			ctx := context.WithValue(inTurn(t), replyKey{}, new(bool))
			if err := p.lend(ctx, request); !errors.Is(err, tt.request) {
				t.Errorf("request: got %v, want %v", err, tt.request)
			} else if err == nil {
				if err := p.release(ctx, request, reply); !errors.Is(err, tt.reply) {
					t.Errorf("reply: got %v, want %v", err, tt.reply)
				}
			}
			s.check(t, tt.screen)
		})
	}
}

// What nobody is asked about is shown.
func TestAlwaysLending(t *testing.T) {
	s := newScreen(t)
	p := newPerson(s.console)
	p.yes = true
	if err := p.lend(inTurn(t), &sampling.Request{Params: &mcpclient.CreateMessageParams{
		Messages: []mcpclient.SamplingMessage{{Role: "user", Content: []mcpclient.Content{&mcpclient.TextContent{Text: "Hello"}}}},
	}}); err != nil {
		t.Error(err)
	}
	s.check(t, "   asks the model: user: Hello\n")
}

// A request outside of a turn must not take the line that is being typed.
func TestReviewOutsideOfTurns(t *testing.T) {
	s := newScreen(t, "y")
	err := newPerson(s.console).lend(t.Context(), &sampling.Request{Params: &mcpclient.CreateMessageParams{}})
	if !errors.Is(err, errRefused) {
		t.Errorf("got %v, want %v", err, errRefused)
	}
}

func TestShown(t *testing.T) {
	got := shown(strings.Repeat("é", maxShown+7))
	if want := strings.Repeat("é", maxShown) + "…\n(7 more characters are not shown)"; got != want {
		t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-60:])
	}
}
