// Package person decides on what servers and the model want, by asking the person
// or by what the person said before.
package person

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Person answers questions: may a tool run, may a server use the model, which
// values go into a form.
type Person struct {
	screen   screen.Screen
	yes      bool                       // allow tool calls and sampling
	answers  map[string]answers.Answers // by server
	failures *Failures

	mu    sync.Mutex         // guards the fields below
	tools map[toolKey]string // tools that always run, with the allowed fingerprint
	lends map[string]bool    // servers that may always use the model
	asked map[fieldKey]bool  // prepared answers that a form asked for, or that were told as wrong
}

// New returns the person at a screen. Yes allows all tool calls and all use of the
// model; answers are for forms, by server.
func New(s screen.Screen, yes bool, answers map[string]answers.Answers, lacks *Failures) *Person {
	return &Person{screen: s, yes: yes, answers: answers, failures: lacks, tools: map[toolKey]string{}, lends: map[string]bool{}, asked: map[fieldKey]bool{}}
}

// noTerminal is the reason for a refusal without a question.
const noTerminal = "there is no terminal to ask on; start with -yes to allow it"

var errRefused = errors.New("the person refused")

// turnKey marks the context of a turn of the conversation. Servers' questions
// at other times must not take the line that the person is typing.
type turnKey struct{}

// InTurn marks the context of a turn.
func InTurn(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, true) }

func duringTurn(ctx context.Context) bool { return ctx.Value(turnKey{}) != nil }

// elicitResult turns the end of a question into an answer for its server. The end of the
// input is not a refusal: it cancels.
func elicitResult(action string, err error, content map[string]any) (*mcp.ElicitResult, error) {
	switch {
	case errors.Is(err, io.EOF):
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	case err != nil:
		return nil, err
	case action != mcp.ElicitAccept:
		content = nil
	}
	return &mcp.ElicitResult{Action: action, Content: content}, nil
}
