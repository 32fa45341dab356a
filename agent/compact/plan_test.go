package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestInvariants takes random runs through compactions, and holds each one against the promises of the package.
func TestInvariants(t *testing.T) {
	var made tally
	seeds := testenv.Pick[uint64](500, 10_000)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		s := &session{r: r}
		o := &compact.Options{Window: int64(500 + r.IntN(6000)), KeepTurns: r.IntN(6)}
		summaries, c := seed%2 == 1, compact.Trim(o)
		if summaries {
			c = compact.SummarizeWith(func(_ context.Context, old []run.Message) (string, run.Usage, error) {
				return fmt.Sprintf("summary of %d", len(old)), run.Usage{Total: 7}, nil
			}, o)
		}
		var h, stable []run.Message
		for step := range 5 {
			h = s.more(h)
			open := step == 4 && seed%3 == 0
			if open {
				h = append(h, s.message(run.RoleAssistant, call("open")))
			}
			h, stable = made.compact(t, c, o, h, stable)
			check.That(t, !open || h[len(h)-1].Parts[0].ID == "open", "the open call is gone")
			check.Require(t, !t.Failed(), "seed %d, step %d", seed, step)
		}
	}
	n := int(seeds)
	check.That(t, made.compactions >= n/2 && made.without >= n/20, "got %+v: the runs are too small to tell", made)
}

// session makes the messages of a random run, each with a time of its own.
type session struct {
	r *rand.Rand
	n int
}

func (s *session) message(role run.Role, parts ...run.Part) run.Message {
	s.n++
	return run.Message{Role: role, Parts: parts, At: time.Unix(int64(s.n), 0)}
}

func (s *session) text(most int) string { return strings.Repeat("wörd ", 1+s.r.IntN(most)) }

// more adds a few messages: an input, turns, now and then a system message.
func (s *session) more(h []run.Message) []run.Message {
	if len(h) == 0 && s.r.IntN(2) == 0 {
		h = append(h, s.message(run.RoleSystem, run.Part{Type: run.PartText, Text: s.text(20)}))
	}
	if len(h) < 2 || s.r.IntN(3) == 0 {
		h = append(h, s.message(run.RoleUser, run.Part{Type: run.PartText, Text: s.text(20)}, run.Part{Type: run.PartAudio, Data: []byte("wav")}))
	}
	for range 1 + s.r.IntN(4) {
		h = s.turn(h)
	}
	if s.r.IntN(20) == 0 {
		h = append(h, s.message(run.RoleSystem, run.Part{Type: run.PartText, Text: s.text(20)}))
	}
	return h
}

func (s *session) turn(h []run.Message) []run.Message {
	ai := s.message(run.RoleAssistant,
		run.Part{Type: run.PartReasoning, Text: s.text(10), Provider: map[string]json.RawMessage{"signature": json.RawMessage(`"sig"`)}},
		run.Part{Type: run.PartText, Text: s.text(10)})
	var results []run.Part
	for i := range s.r.IntN(4) {
		id := fmt.Sprintf("%d.%d", s.n, i)
		ai.Parts = append(ai.Parts, call(id))
		text := s.text(120)
		if s.r.IntN(4) == 0 { // as package adapter cuts it, with a handle
			head, tail := strings.ToValidUTF8(text[:len(text)/2], ""), strings.ToValidUTF8(text[len(text)-len(text)/4:], "")
			text = fmt.Sprintf("%s\n[… 5000 of %d bytes were cut here; call read_result with {\"handle\":\"abc\",\"offset\":%d} to read them …]\n%s",
				head, len(head)+len(tail)+5000, len(head), tail)
		}
		r := result(id, text)
		for range s.r.IntN(8) / 7 {
			r.Media = append(r.Media, picture())
		}
		results = append(results, r)
	}
	h = append(h, ai)
	each := max(1, len(results))
	if len(results) > 1 && s.r.IntN(5) == 0 { // one by one
		each = 1
	}
	for some := range slices.Chunk(results, each) {
		h = append(h, s.message(run.RoleTool, some...))
	}
	return h
}

// clone is a deep copy of what a compactor may touch.
func clone(h []run.Message) []run.Message {
	h = slices.Clone(h)
	for i := range h {
		h[i].Parts = slices.Clone(h[i].Parts)
		for j := range h[i].Parts {
			h[i].Parts[j].Media = slices.Clone(h[i].Parts[j].Media)
		}
	}
	return h
}

func isSummary(m run.Message) bool { return m.Parts[0].Type == run.PartSummary }

// tally counts compactions, and among them what left out nothing after an earlier one.
type tally struct{ compactions, without int }

// compact checks one compaction and returns the history after it, and its part that must stay as long as nothing is left out.
func (made *tally) compact(t *testing.T, c compact.Compactor, o *compact.Options, h, stable []run.Message) (_, _ []run.Message) {
	before := clone(h)
	got := check.Value(c(t.Context(), h, compact.Budget{}))(t)
	if got == nil {
		return h, stable
	}
	check.That(t, reflect.DeepEqual(h, before), "the history itself was changed")
	check.Require(t, got.Replaced >= 1 && got.Replaced <= len(h), "%d messages replaced of %d", got.Replaced, len(h))
	after := append(slices.Clone(got.Messages), h[got.Replaced:]...)
	left := checkMessages(t, o, h, after)
	checkCalls(t, h, after)
	made.compactions++
	if left == 0 && len(stable) > 0 {
		made.without++
	}
	if left == 0 && len(stable) > 0 && !reflect.DeepEqual(after[:min(len(stable), len(after))], stable) {
		t.Errorf("what an earlier compaction made was changed:\n%s", cmp.Diff(stable, after[:min(len(stable), len(after))]))
	}
	again, err := c(t.Context(), after, compact.Budget{})
	check.That(t, err == nil && (again == nil || got.Usage.Total != 0), "compacted again to %+v, %v, want nothing", again, err)
	return after, got.Messages
}

// checkMessages checks each message of a history after a compaction, and returns how many were left out.
func checkMessages(t *testing.T, o *compact.Options, before, after []run.Message) (left int) {
	var users, turns []int // what must stay
	for i, m := range before {
		switch {
		case m.Role == run.RoleUser && !isSummary(m):
			users = append(users, i)
		case m.Role == run.RoleAssistant:
			turns = append(turns, i)
		}
	}
	must := map[int]bool{}
	for _, list := range [][]int{users, turns, users[:min(1, len(users))]} { // the last of each, and the first input
		if len(list) > 0 {
			must[list[len(list)-1]] = true
		}
	}
	next := 0
	for i, m := range before {
		for next < len(after) && isSummary(after[next]) {
			next++
		}
		switch {
		case isSummary(m):
		case next < len(after) && after[next].At.Equal(m.At):
			checkMessage(t, m, after[next])
			next++
		case m.Role == run.RoleSystem || must[i]:
			t.Errorf("message %d (%s) is gone", i, m.Role)
		default:
			left++
		}
	}
	for next < len(after) && isSummary(after[next]) {
		next++
	}
	if next < len(after) {
		t.Errorf("message %d is out of order or new: %+v", next, after[next])
	}
	return left
}

// checkMessage checks a message that stays: only results are trimmed.
func checkMessage(t *testing.T, before, after run.Message) {
	if before.Role == after.Role && len(before.Parts) == len(after.Parts) && &before.Parts[0] == &after.Parts[0] {
		return
	}
	restored := clone([]run.Message{after})[0]
	for i := range restored.Parts {
		p := &restored.Parts[i]
		const limit = 1024
		check.That(t, p.Type != run.PartResult || p.Text == before.Parts[i].Text || len(p.Text) <= limit,
			"a result has %d bytes, want at most %d", len(p.Text), limit)
		check.That(t, !strings.Contains(before.Parts[i].Text, `"handle":"abc"`) || strings.Contains(p.Text, `"handle":"abc"`),
			"the handle is gone: %q", p.Text)
		if p.Type == run.PartResult {
			p.Text, p.Media = before.Parts[i].Text, before.Parts[i].Media
		}
	}
	check.Same(t, "more than a result was changed", restored, before)
}

// checkCalls checks that what was a pair of a call and a result is one, or gone.
func checkCalls(t *testing.T, before, after []run.Message) {
	ids := func(h []run.Message, kind run.PartType) map[string]bool {
		out := map[string]bool{}
		for _, m := range h {
			for _, p := range m.Parts {
				if p.Type == kind {
					out[p.ID] = true
				}
			}
		}
		return out
	}
	results, calls, answered := ids(before, run.PartResult), ids(after, run.PartCall), ids(after, run.PartResult)
	for id := range results {
		check.That(t, calls[id] == answered[id], "call %s stays: %t, its result: %t", id, calls[id], answered[id])
	}
}
