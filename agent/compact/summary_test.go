package compact_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestSummarize follows a run through two summaries.
func TestSummarize(t *testing.T) {
	var seen []string
	c := compact.SummarizeWith(func(_ context.Context, old []run.Message) (string, run.Usage, error) {
		var b strings.Builder
		for _, m := range old {
			b.WriteString(m.Text() + "/")
			for _, p := range m.Parts {
				b.WriteString(p.ID + " ")
			}
		}
		seen = append(seen, b.String())
		return fmt.Sprintf(" summary %d ", len(seen)), run.Usage{Turns: 1, Total: 5}, nil
	}, &compact.Options{Window: 5000, KeepTurns: 1})
	h := turns(60, 250)
	for i := range 2 {
		got, err := c(t.Context(), h, compact.Budget{})
		if err != nil || got == nil || got.Usage.Total != 5 {
			t.Fatal(got, err)
		}
		summary := run.Part{Type: run.PartSummary, Text: fmt.Sprintf("[Summary of older messages]\nsummary %d", i+1)}
		want := []run.Message{run.Text(run.RoleUser, "go"), {Role: run.RoleUser, Parts: []run.Part{summary}}}
		check.Same(t, fmt.Sprint("summary ", i+1), got.Messages, want)
		h = append(append(slices.Clone(got.Messages), h[got.Replaced:]...), turns(60, 250)[1:]...)
	}
	for i, want := range []string{"go/ /0 /0 /1 /1 ", "go/ [Summary of older messages]\nsummary 1/ /"} {
		check.That(t, strings.HasPrefix(seen[i], want), "summary %d is of %q, want it to begin with %q", i+1, seen[i], want)
	}
}

func TestSummarizerFails(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		text string
		err  error
		want string
	}{{"", down, "down"}, {" \n", nil, "summary is empty"}} {
		c := compact.SummarizeWith(func(context.Context, []run.Message) (string, run.Usage, error) {
			return test.text, run.Usage{Total: 5}, test.err
		}, &compact.Options{Window: 1000})
		got, err := c(t.Context(), turns(60, 250), compact.Budget{})
		check.That(t, err != nil && strings.Contains(err.Error(), test.want) && (test.err == nil || errors.Is(err, down)),
			"got %v, want %q", err, test.want)
		check.That(t, got != nil && got.Replaced == 0 && got.Usage.Total == 5, "got %+v, want the usage alone", got)
	}
}

// TestLongSummary bounds what a summarizer returns.
func TestLongSummary(t *testing.T) {
	c := compact.SummarizeWith(func(context.Context, []run.Message) (string, run.Usage, error) {
		return strings.Repeat("x", 1<<20), run.Usage{}, nil
	}, &compact.Options{Window: 1000})
	got := check.Value(c(t.Context(), turns(60, 250), compact.Budget{}))(t)
	n := len(got.Messages[1].Text())
	check.That(t, n <= 17<<10, "the summary has %d bytes, want at most 17 KiB", n)
}

func TestSummarizeWithoutAModel(t *testing.T) {
	defer func() {
		check.Equal(t, "panic", recover(), any("compact: Summarize: the model is nil: check the error of its constructor"))
	}()
	compact.Summarize(nil, nil)
}
