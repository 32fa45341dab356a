package compact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/agent/model"
)

// SummarizeWith is Summarize with the summaries of a function.
func SummarizeWith(s summarizer, o *Options) Compactor { return summarize(s, o.withDefaults()) }

// ByModel returns the function with which Summarize asks a model.
func ByModel(m model.Model, o *Options) summarizer { return byModel(m, o.withDefaults()) }

// FuzzShorten holds what a server may write into a result to the bound.
func FuzzShorten(f *testing.F) {
	fill := strings.Repeat("é", 400)
	f.Add(fill, 256)
	f.Add(fill+"\n[… 5 of 1605 bytes were cut here; call read_result with {\"handle\":\"h\",\"offset\":800} to read them …]\n"+fill, 300)
	f.Add(fill+"\n[… 5 of 1605 bytes were cut here; call read_result with {\"handle\":\"h\",\"offset\":800} to read them; the whole is json: {\"a\":string} …]\n"+fill, 400)
	f.Add(fill+"\n[… 5 of 1605 bytes were cut here …]\n"+fill, 256)
	f.Add(fill+"\n[… 99999999999999999999 of 5 bytes were cut here …]\n"+fill, 256)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 128), 1<<16)
		got := shorten(text, limit)
		switch {
		case len(got) > limit:
			t.Errorf("got %d bytes, want at most %d", len(got), limit)
		case len(text) <= limit && got != text:
			t.Errorf("got %q, want it as it is", got)
		case utf8.ValidString(text) && !utf8.ValidString(got):
			t.Errorf("got %q, want whole characters", got)
		}
	})
}
