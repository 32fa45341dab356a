package chaos

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestJudge has a call of each verdict.
func TestJudge(t *testing.T) {
	const unknown = "It is unknown whether the call ran"
	for name, tt := range map[string]struct {
		result   string
		effects  int
		mayDoubt bool
		want     Counts
		mistake  string
	}{
		"one effect":            {did + "x", 1, true, Counts{}, ""},
		"denied":                {"Error: nothing was done", 0, true, Counts{}, ""},
		"lost":                  {did + "x", 0, true, Counts{Lost: 1}, "lost"},
		"doubled":               {did + "x", 2, true, Counts{Doubled: 1}, "doubled"},
		"denied with an effect": {"Error: nothing was done", 1, true, Counts{Silent: 1}, "silent"},
		"no result":             {"", 0, true, Counts{Silent: 1}, "silent"},
		"doubt":                 {unknown, 1, true, Counts{Doubts: 1}, ""},
		"late":                  {"Error: the tool gave no answer in time; it may still be running", 1, true, Counts{Doubts: 1}, ""},
		"given up":              {"Error: the tool's server gave the call up; the tool may have done a part of it", 1, true, Counts{Doubts: 1}, ""},
		"doubt with keys":       {unknown, 1, false, Counts{Doubts: 1}, "in doubt"},
	} {
		var got Counts
		mistake := got.add("x", tt.result, tt.effects, tt.mayDoubt)
		tt.want.Calls = 1
		check.That(t, got == tt.want && mistake == tt.mistake, "%s: got %+v, %q, want %+v, %q", name, got, mistake, tt.want, tt.mistake)
	}
}
