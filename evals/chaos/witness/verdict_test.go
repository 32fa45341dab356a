package witness

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestJudge has a call of each verdict.
func TestJudge(t *testing.T) {
	const unknown = "It is unknown whether the call ran"
	for name, tt := range map[string]struct {
		kind, result string
		effects      int
		kills        bool
		want         Counts
		errors       string // beginning of the example; "" for none
	}{
		"one effect":             {Plain, did + "x", 1, true, Counts{}, ""},
		"denied":                 {Plain, "Error: nothing was done", 0, true, Counts{}, ""},
		"lost":                   {Plain, did + "x", 0, true, Counts{Lost: 1}, "lost"},
		"doubled":                {Plain, did + "x", 2, true, Counts{Doubled: 1}, "doubled"},
		"denied with an effect":  {Plain, "Error: nothing was done", 1, true, Counts{Silent: 1}, "silent"},
		"no result":              {Plain, "", 0, true, Counts{Silent: 1}, "silent"},
		"doubt":                  {Plain, unknown, 1, true, Counts{Doubts: 1}, ""},
		"late":                   {Plain, "Error: the tool gave no answer in time; it may still be running", 1, true, Counts{Doubts: 1}, ""},
		"given up":               {Tasks, "Error: the tool's server gave the call up; the tool may have done a part of it", 1, true, Counts{Doubts: 1}, ""},
		"doubt with keys":        {Keys, unknown, 1, true, Counts{Doubts: 1}, "in doubt"},
		"doubt of a live worker": {Plain, unknown, 1, false, Counts{Doubts: 1}, "in doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVerdict([]string{tt.kind}, tt.kills)
			v.count(tt.kind, "x", tt.result, tt.effects)
			tt.want.Calls = 1
			check.That(t, v.All() == tt.want && v.Clean() == (tt.errors == ""), "got %+v, clean %v, want %+v", v.All(), v.Clean(), tt.want)
			var out strings.Builder
			v.Print(&out)
			lines := strings.Split(out.String(), "\n")
			check.That(t, tt.errors == "" || strings.HasPrefix(lines[1], tt.errors+": x"), "got %s, want an example of %s", out.String(), tt.errors)
		})
	}
}
