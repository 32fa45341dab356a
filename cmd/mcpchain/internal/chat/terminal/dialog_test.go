package terminal

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// A name in a question cannot control the terminal.
func TestNamesInQuestions(t *testing.T) {
	const name = "x\x1b[8m\u202e"
	for what, d := range map[string]dialog{
		"choice": &choiceDialog{question: finalChoice(&screen.Form{Server: name}, true)},
		"text":   newTextDialog(screen.Paint{}, &screen.Draft{Prompt: name}),
		"secret": newSecretDialog(screen.Paint{}, name),
	} {
		d.init(80, 24)
		for _, ready := range []bool{false, true} {
			if view, _ := d.view(80, ready); strings.Contains(view, "\x1b[8m") || strings.Contains(view, "\u202e") || !strings.Contains(view, `x\x1b[8m\u202e`) {
				t.Errorf("%s: got %q", what, view)
			}
		}
	}
}

// Closing the terminal ends requests for completions, and none begins afterwards.
func TestRequestsEnd(t *testing.T) {
	r := newRequests()
	begun := make(chan struct{})
	ended := false
	m := menu{requests: r, complete: func() screen.Completer {
		return func(ctx context.Context, _ string) screen.Completion {
			close(begun)
			<-ctx.Done()
			ended = true
			return screen.Completion{}
		}
	}}
	go m.ask("/to")()
	<-begun
	r.close()
	if !ended {
		t.Error("the request is still under way")
	}
	if msg := m.ask("/to")(); msg != nil {
		t.Errorf("got %v after the end", msg)
	}
}
