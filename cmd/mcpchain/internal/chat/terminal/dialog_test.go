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

// Closing the terminal ends requests for completions.
func TestRequestsEnd(t *testing.T) {
	m := &Terminal{}
	m.ctx, m.cancel = context.WithCancel(t.Context())
	ended := false
	m.CompleteBy(func(ctx context.Context, _ string) screen.Completion {
		<-ctx.Done()
		ended = true
		return screen.Completion{}
	})
	(&menu{terminal: m}).ask("/to")
	m.cancel()
	m.requests.Wait()
	if !ended {
		t.Error("the request is still under way")
	}
}
