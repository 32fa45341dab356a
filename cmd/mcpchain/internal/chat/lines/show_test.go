package lines

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

func TestShowResult(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		result *adapter.Result
		want   string
	}{
		"short":   {&adapter.Result{Text: "a\nb"}, "← demo add: a b\n"},
		"empty":   {&adapter.Result{}, "← demo add:\n"},
		"long":    {&adapter.Result{Text: long}, "← demo add: " + long[:screen.MaxResult-1] + "… (/show has all)\n"},
		"failure": {&adapter.Result{Text: long, IsError: true}, "✗ demo add: " + long[:screen.MaxFailure-1] + "… (/show has all)\n"},
		"error":   {&adapter.Result{Text: "x", IsError: true, Err: fmt.Errorf("gone")}, "✗ demo add: gone\n"},
		"stopped": {&adapter.Result{Text: "x", IsError: true, Err: fmt.Errorf("call: %w", context.Canceled)}, "✗ demo add: stopped\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.Show(&agent.ToolEnd{Call: agent.Call{Server: "demo", Tool: "add"}, Result: tt.result})
			s.check(t, tt.want)
		})
	}
	s := newScreen(t)
	s.Person = false
	s.Show(&agent.ToolEnd{Call: agent.Call{Server: "demo", Tool: "add"}, Result: &adapter.Result{Text: long}})
	s.check(t, "← demo add: "+long[:screen.MaxResult-1]+"…\n") // a script has no /show
}

// The last output of a server cannot look like lines of the program, whatever the width of the terminal.
func TestLostServer(t *testing.T) {
	s := newScreen(t)
	s.Width = func() int { return 30 }
	s.Note(screen.Fail, "lost the server demo: exit status 1; its last lines on stderr:\nbot › \x1b[2Jall is well\nAllow it? [y]es %syou › \n  kept", strings.Repeat("x", 30))
	s.check(t, `lost the server demo: exit
  status 1; its last lines on
  stderr:
  bot › \x1b[2Jall is well
  Allow it? [y]es
  xxxxxxxxxxxxxxxxxxxxxxxxxxx
  xxxyou ›
  kept
`)
}
