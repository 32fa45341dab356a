package tree

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Small patterns are refused if they are large together, invalid patterns included.
func TestBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		expr  string
		taken int // patterns before the budget is used up
	}{
		"instructions":        {"(ab?){330}", 150},
		"text":                {strings.Repeat("a|", 2000) + "a", 60},
		"of another language": {strings.Repeat("a", 5000) + "(?=b)", 49},
		"named classes":       {strings.Repeat(`\pL`, 300), 25},
		"folded ranges":       {`(?i)[\x{42}-\x{1E942}]`, 120},
		"too large":           {strings.Repeat("a", MaxPattern+1), 1000}, // it is not read
	} {
		var b PatternBudget
		taken := 0
		for range 1000 {
			if _, _, over := b.Check(tt.expr); over != nil {
				if !strings.Contains(over.Error(), "more than 250000 instructions together") {
					t.Fatalf("%s: got %v", name, over)
				}
				break
			}
			taken++
		}
		if taken < tt.taken/2 || taken > tt.taken*3 {
			t.Errorf("%s: got %d taken, want about %d", name, taken, tt.taken)
		}
	}
}

// A pattern that takes long to read is refused before it is read.
func TestPatternsThatAreHardToRead(t *testing.T) {
	for name, expr := range map[string]string{
		"folded ranges":       `(?i)` + strings.Repeat(`[\x{42}-\x{1E942}]`, 6),
		"ranges of letters":   `(?si:` + strings.Repeat(`[a-ÿ]`, 6) + `)`,
		"named classes":       strings.Repeat(`\pL`, 500),
		"named, not in them":  strings.Repeat(`\PL`, 500),
		"flags set and unset": `(?i-s)` + strings.Repeat(`[\x{42}-\x{1E942}]`, 6),
	} {
		check.Text(t, CheckPattern(expr), "to be read", name, "it refused")
	}
	for _, expr := range []string{`(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,63}$`, `^[\p{L}\p{N} '’-]{1,200}$`, strings.Repeat("[a-z]-", 500)} {
		check.NoError(t, CheckPattern(expr), expr)
	}
}
