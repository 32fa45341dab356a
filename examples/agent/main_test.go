package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/examples/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMain(m *testing.M) {
	if !demo.Serve() {
		os.Exit(m.Run())
	}
}

// TestConversation has three turns: what was allowed once for always is not asked about again.
func TestConversation(t *testing.T) {
	file := demo.Start(t, nil)
	var shown, answers strings.Builder
	you := &mcpchain.Terminal{In: strings.NewReader("What is 17 plus 25?\na\nWhat is 1 plus 2?\n"), Out: &shown}
	check.Must(t, converse(t.Context(), file, you, &answers))
	const want = "The result: 17 + 25 = 42.\nThe result: 1 + 2 = 3.\n"
	check.Equal(t, "answers", answers.String(), want)
	check.That(t, strings.Count(shown.String(), "Run ") == 1 && strings.Count(shown.String(), "you: ") == 3, "the person saw %q", &shown)
}
