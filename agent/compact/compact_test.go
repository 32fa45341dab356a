package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/price"
)

func call(id string) run.Part {
	return run.Part{Type: run.PartCall, ID: id, Name: "f", Arguments: `{"x":1}`}
}

func result(id, text string, media ...run.Part) run.Part {
	return run.Part{Type: run.PartResult, ID: id, Name: "f", Text: text, Media: media}
}

func picture() run.Part {
	return run.Part{Type: run.PartImage, MIMEType: "image/png", Data: []byte("png")}
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

func (s *session) text(most int) string {
	return strings.Repeat("wörd ", 1+s.r.IntN(most))
}

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
		if s.r.IntN(4) == 0 {
			text = spilled(text, "abc")
		}
		r := result(id, text)
		for range s.r.IntN(8) / 7 {
			r.Media = append(r.Media, picture())
		}
		results = append(results, r)
	}
	h = append(h, ai)
	if len(results) > 1 && s.r.IntN(5) == 0 { // one by one
		for _, r := range results {
			h = append(h, s.message(run.RoleTool, r))
		}
		return h
	}
	if len(results) > 0 {
		h = append(h, s.message(run.RoleTool, results...))
	}
	return h
}

// spilled is a text as package adapter cuts it, with a handle.
func spilled(text, handle string) string {
	head, tail := strings.ToValidUTF8(text[:len(text)/2], ""), strings.ToValidUTF8(text[len(text)-len(text)/4:], "")
	return fmt.Sprintf("%s\n[… 5000 of %d bytes were cut here; call read_result with {\"handle\":%q,\"offset\":%d} to read them …]\n%s",
		head, len(head)+len(tail)+5000, handle, len(head), tail)
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

// TestInvariants takes random runs through compactions, and holds each one against
// the promises of the package.
func TestInvariants(t *testing.T) {
	var made tally
	seeds := testenv.Pick[uint64](500, 10_000)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		s := &session{r: r}
		o := &compact.Options{Window: int64(500 + r.IntN(6000)), KeepTurns: r.IntN(6), MaxResult: r.IntN(700)}
		summaries := seed%2 == 1
		c := compact.Trim(o)
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
			if open && h[len(h)-1].Parts[0].ID != "open" {
				t.Error("the open call is gone")
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
	if n := int(seeds); made.compactions < n/2 || made.without < n/20 {
		t.Errorf("got %+v: the runs are too small to tell", made)
	}
}

// tally counts compactions, and among them what left out nothing after an earlier one.
type tally struct{ compactions, without int }

// compact checks one compaction and returns the history after it, and its part that
// must stay as long as nothing is left out.
func (made *tally) compact(t *testing.T, c compact.Compactor, o *compact.Options, h, stable []run.Message) (_, _ []run.Message) {
	before := clone(h)
	got, err := c(t.Context(), h, compact.Budget{})
	check.Must(t, err)
	if got == nil {
		return h, stable
	}
	if !reflect.DeepEqual(h, before) {
		t.Error("the history itself was changed")
	}
	if got.Replaced < 1 || got.Replaced > len(h) {
		t.Fatalf("%d messages replaced of %d", got.Replaced, len(h))
	}
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
	if again, err := c(t.Context(), after, compact.Budget{}); err != nil || again != nil && got.Usage.Total == 0 {
		t.Errorf("compacted again to %+v, %v, want nothing", again, err)
	}
	return after, got.Messages
}

// checkMessages checks each message of a history after a compaction, and returns how many
// were left out.
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
	for _, list := range [][]int{users, turns} {
		if len(list) > 0 {
			must[list[len(list)-1]] = true
		}
	}
	if len(users) > 0 {
		must[users[0]] = true
	}
	next := 0
	for i, m := range before {
		for next < len(after) && isSummary(after[next]) {
			next++
		}
		switch {
		case isSummary(m):
		case next < len(after) && after[next].At.Equal(m.At):
			checkMessage(t, o, m, after[next])
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
func checkMessage(t *testing.T, o *compact.Options, before, after run.Message) {
	if before.Role == after.Role && len(before.Parts) == len(after.Parts) && &before.Parts[0] == &after.Parts[0] {
		return
	}
	restored := clone([]run.Message{after})[0]
	for i := range restored.Parts {
		p := &restored.Parts[i]
		limit := max(o.MaxResult, 256)
		if o.MaxResult == 0 {
			limit = 1024
		}
		if p.Type == run.PartResult && p.Text != before.Parts[i].Text && len(p.Text) > limit {
			t.Errorf("a result has %d bytes, want at most %d", len(p.Text), limit)
		}
		if strings.Contains(before.Parts[i].Text, `"handle":"abc"`) && !strings.Contains(p.Text, `"handle":"abc"`) {
			t.Errorf("the handle is gone: %q", p.Text)
		}
		if p.Type == run.PartResult {
			p.Text, p.Media = before.Parts[i].Text, before.Parts[i].Media
		}
	}
	if !reflect.DeepEqual(before, restored) {
		t.Errorf("more than a result was changed (-before +after):\n%s", cmp.Diff(before, restored))
	}
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
		if calls[id] != answered[id] {
			t.Errorf("call %s stays: %t, its result: %t", id, calls[id], answered[id])
		}
	}
}

// shortened is what a compactor makes of a history that is too long.
func shortened(t *testing.T, o *compact.Options, h []run.Message, b compact.Budget) *compact.Result {
	t.Helper()
	got, err := compact.Trim(o)(t.Context(), h, b)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	return got
}

// turns is a run of n turns with results of so many bytes.
func turns(n, bytes int) []run.Message {
	h := []run.Message{run.Text(run.RoleUser, "go")}
	for i := range n {
		id := fmt.Sprint(i)
		h = append(h,
			run.Message{Role: run.RoleAssistant, Parts: []run.Part{call(id)}},
			run.Message{Role: run.RoleTool, Parts: []run.Part{result(id, strings.Repeat("x", bytes))}})
	}
	return h
}

// TestStart holds when something is done, by the count of the provider.
func TestStart(t *testing.T) {
	h := turns(20, 2000) // about 10,000 tokens by their bytes
	for name, test := range map[string]struct {
		options *compact.Options
		budget  compact.Budget
		want    bool
	}{
		"small by default":            {nil, compact.Budget{}, false},
		"the window of the options":   {&compact.Options{Window: 14_000}, compact.Budget{}, true},
		"large enough":                {&compact.Options{Window: 15_000}, compact.Budget{}, false},
		"the window of the model":     {&compact.Options{Window: 100_000}, compact.Budget{Window: 14_000}, true},
		"counted at the start":        {nil, compact.Budget{Tokens: 89_600, Messages: len(h)}, false},
		"counted over it":             {nil, compact.Budget{Tokens: 89_601, Messages: len(h)}, true},
		"counted, and one turn more":  {nil, compact.Budget{Tokens: 89_500, Messages: len(h) - 2}, true},
		"counted less than estimated": {&compact.Options{Window: 10_000}, compact.Budget{Tokens: 5000, Messages: len(h) - 2}, false},
		"counted half the estimate":   {&compact.Options{Window: 10_000}, compact.Budget{Tokens: 2500, Messages: 21}, false},
		"a count of another history":  {nil, compact.Budget{Tokens: 1_000_000, Messages: len(h) + 1}, false},
		"an earlier start":            {&compact.Options{Start: 0.01}, compact.Budget{}, true},
		"a start out of range":        {&compact.Options{Start: 7}, compact.Budget{}, false},
	} {
		got, err := compact.Trim(test.options)(t.Context(), h, test.budget)
		if err != nil || (got != nil) != test.want {
			t.Errorf("%s: got %v, %v, want a compaction: %t", name, got != nil, err, test.want)
		}
	}
}

// TestCalibration holds that what comes with every call, such as tools, leaves less room.
func TestCalibration(t *testing.T) {
	h := turns(40, 400) // about 4,000 tokens
	left := func(beside int64) int {
		got := shortened(t, &compact.Options{Window: 4000}, h, compact.Budget{Tokens: 5000 + beside, Messages: len(h)})
		return len(got.Messages) + len(h) - got.Replaced
	}
	if few, many := left(1000), left(0); few >= many {
		t.Errorf("%d messages stay beside large tools, %d without, want fewer", few, many)
	}
}

// TestKeep holds that the last turns stay as they are.
func TestKeep(t *testing.T) {
	h := turns(10, 2000)
	for keep, want := range map[int]int{0: 1 + 6*2, 1: 1 + 9*2, 3: 1 + 7*2} {
		if got := shortened(t, &compact.Options{Window: 6000, KeepTurns: keep}, h, compact.Budget{}); got.Replaced != want {
			t.Errorf("keep %d: got %+v, want %d replaced", keep, got, want)
		}
	}
}

// TestOpenCallsStay has a call without a result amid older turns.
func TestOpenCallsStay(t *testing.T) {
	h := turns(30, 250)
	h[2].Parts = nil // the result of call 0
	got := shortened(t, &compact.Options{Window: 1500}, h, compact.Budget{})
	check.Same(t, "messages", got.Messages[:3], h[:3])
	if len(got.Messages) != 4 || got.Replaced < 10 {
		t.Errorf("got %+v, want a gap after the open call", got)
	}
}

// TestLastResort holds that results in the last turns are cut when they alone are too much.
func TestLastResort(t *testing.T) {
	h := turns(2, 100_000)
	got := shortened(t, &compact.Options{Window: 10_000}, h, compact.Budget{})
	if got.Replaced != len(h) {
		t.Fatalf("got %+v, want all replaced", got)
	}
	last := got.Messages[len(got.Messages)-1].Parts[0]
	if last.ID != "1" || len(last.Text) > 1024 || !strings.Contains(last.Text, "of 100000 bytes were cut here") {
		t.Errorf("got the last result %q", last.Text)
	}
}

func TestMediaAreDropped(t *testing.T) {
	h := turns(6, 10)
	ref := run.Part{Type: run.PartImage, MIMEType: "image/png", URL: "store:1"}
	h[2].Parts = []run.Part{result("0", "Look.", picture(), ref, picture())}
	got := shortened(t, &compact.Options{Window: 2000}, h, compact.Budget{})
	want := []run.Part{result("0", "Look.\n[2 media of this result were left out to save room.]", ref)}
	if got.Replaced != 3 || !reflect.DeepEqual(got.Messages[2].Parts, want) {
		t.Errorf("got %d replaced, (-want +got):\n%s", got.Replaced, cmp.Diff(want, got.Messages[2].Parts))
	}
}

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
		want := []run.Message{run.Text(run.RoleUser, "go"), {Role: run.RoleUser, Parts: []run.Part{
			{Type: run.PartSummary, Text: fmt.Sprintf("[Summary of older messages]\nsummary %d", i+1)}}}}
		if diff := cmp.Diff(want, got.Messages); diff != "" {
			t.Errorf("summary %d (-want +got):\n%s", i+1, diff)
		}
		h = append(append(slices.Clone(got.Messages), h[got.Replaced:]...), turns(60, 250)[1:]...)
	}
	if !strings.HasPrefix(seen[0], "go/ /0 /0 /1 /1 ") {
		t.Errorf("the first summary is of %q", seen[0])
	}
	if !strings.HasPrefix(seen[1], "go/ [Summary of older messages]\nsummary 1/ /") {
		t.Errorf("the second summary is of %q", seen[1])
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
		if err == nil || !strings.Contains(err.Error(), test.want) || test.err != nil && !errors.Is(err, down) {
			t.Errorf("got %v, want %q", err, test.want)
		}
		if got == nil || got.Replaced != 0 || got.Usage.Total != 5 {
			t.Errorf("got %+v, want the usage alone", got)
		}
	}
}

// TestLongSummary bounds what a summarizer returns.
func TestLongSummary(t *testing.T) {
	c := compact.SummarizeWith(func(context.Context, []run.Message) (string, run.Usage, error) {
		return strings.Repeat("x", 1<<20), run.Usage{}, nil
	}, &compact.Options{Window: 1000})
	got, err := c(t.Context(), turns(60, 250), compact.Budget{})
	check.Must(t, err)
	if n := len(got.Messages[1].Text()); n > 17<<10 {
		t.Errorf("the summary has %d bytes, want at most 17 KiB", n)
	}
}

// A caller's estimate is taken as it is, unless the provider has counted.
func TestEstimateOfTheCaller(t *testing.T) {
	h := turns(200, 1000)
	whole := compact.Estimate(h)
	for _, tt := range []struct {
		name   string
		window int64
		known  compact.Budget
		want   bool
	}{
		{"short", 2 * whole, compact.Budget{Estimate: whole}, false},
		{"long", whole, compact.Budget{Estimate: whole}, true},
		{"long, and the caller says short", whole, compact.Budget{Estimate: whole / 2}, false},
		{"counted as long", whole, compact.Budget{Estimate: whole / 2, Tokens: whole, Messages: len(h)}, true},
		{"below zero", whole, compact.Budget{Estimate: -1}, true},
	} {
		tt.known.Window = tt.window
		got, err := compact.Trim(nil)(t.Context(), h, tt.known)
		if err != nil || (got != nil) != tt.want {
			t.Errorf("%s: got %v, %v, want a shorter history: %t", tt.name, got, err, tt.want)
		}
		if !tt.want || tt.known.Tokens > 0 {
			continue
		}
		alone, err := compact.Trim(nil)(t.Context(), h, compact.Budget{Window: tt.window})
		if diff := cmp.Diff(got, alone); err != nil || diff != "" {
			t.Errorf("%s: got (-) want (+), as without the estimate: %v\n%s", tt.name, err, diff)
		}
	}
}

// BenchmarkBelowStart is what each model call costs while the history is short enough.
func BenchmarkBelowStart(b *testing.B) {
	h := turns(5000, 40)
	c := compact.Trim(nil)
	for name, budget := range map[string]compact.Budget{
		"counted":   {Window: 10_000_000, Tokens: 1, Messages: len(h) - 2},
		"estimated": {Window: 10_000_000},
		"known":     {Window: 10_000_000, Estimate: compact.Estimate(h)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := c(b.Context(), h, budget); got != nil || err != nil {
					b.Fatal(got, err)
				}
			}
		})
	}
}

// What the host of the model gets back with a call is a part of the history.
func TestHostDataCounts(t *testing.T) {
	history := func(data int) []run.Message {
		h := []run.Message{run.Text(run.RoleUser, "go")}
		for i := range 10 {
			c := call(fmt.Sprint(i))
			c.Provider = map[string]json.RawMessage{"host": json.RawMessage(`{"reasoning":"` + strings.Repeat("x", data) + `"}`)}
			h = append(h, run.Message{Role: run.RoleAssistant, Parts: []run.Part{c}}, run.Message{Role: run.RoleTool, Parts: []run.Part{result(c.ID, "ok")}})
		}
		return h
	}
	trim := compact.Trim(&compact.Options{Window: 10_000})
	for data, want := range map[int]bool{100: false, 4000: true} {
		h := history(data)
		change, err := trim(t.Context(), h, compact.Budget{})
		if err != nil || (change != nil) != want {
			t.Errorf("%d bytes with each call: got %v, %v, want a shorter history: %t", data, change, err, want)
		}
		// Of the provider's count, the messages that are left have their part.
		change, err = trim(t.Context(), h, compact.Budget{Tokens: int64(10 * (data/4 + 20)), Messages: len(h)})
		if err != nil || (change != nil) != want {
			t.Errorf("%d bytes with each call, counted: got %v, %v, want a shorter history: %t", data, change, err, want)
		} else if want && change.Replaced < 8 {
			t.Errorf("got %d messages replaced, want room for host data", change.Replaced)
		}
	}
}

// plays makes a model that gives one answer, or fails.
func plays(answer string, err error) *agenttest.Model {
	return agenttest.PlayRepeating(func(context.Context, agenttest.Turn) (*model.Response, error) {
		m := run.Text(run.RoleAssistant, answer)
		m.Model = "mini-1"
		return &model.Response{Message: m, Usage: run.Usage{Input: 100, Output: 20, Total: 120}}, err
	})
}

func TestByModel(t *testing.T) {
	m := plays("They compared logs.", nil).WithInfo(model.Info{Name: "large", OtherNames: []string{"mini"}, NoStreaming: true}) // as of agent.Fallback
	prices := &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "large", Currency: "USD", Input: 9_000_000, Output: 9_000_000}, {Model: "mini", Currency: "USD", Input: 1_000_000, Output: 2_000_000},
	}}
	old := []run.Message{
		run.Text(run.RoleUser, "Compare."),
		{Role: run.RoleAssistant, Parts: []run.Part{
			{Type: run.PartReasoning, Text: "hm"}, {Type: run.PartText, Text: "I look."}, {Type: run.PartCall, ID: "1", Name: "read", Arguments: `{"n":1}`}}},
		{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "1", Name: "read", Text: strings.Repeat("x", 5000)}}},
		{Role: run.RoleUser, Parts: []run.Part{picture()}},
	}
	text, used, err := compact.ByModel(m, &compact.Options{Prices: prices})(t.Context(), old)
	if err != nil || text != "They compared logs." {
		t.Fatalf("got %q, %v", text, err)
	}
	check.Same(t, "usage", used, run.Usage{Turns: 1, Input: 100, Output: 20, Total: 120, Cost: map[string]int64{"USD": 140}})
	got := m.Turns()[0].Request.Messages[0].Text()
	head, _, _ := strings.Cut(got, "xxx")
	if want := "user: Compare.\n\nassistant: I look.\n\nassistant calls read: {\"n\":1}\n\nresult of read: "; head != want {
		t.Errorf("the model got %q, want %q", head, want)
	}
	if !strings.HasSuffix(got, "user: [image: image/png]\n\n") || len(got) > 1300 {
		t.Errorf("the model got %q", got)
	}
}

func TestSummarizeWithoutAModel(t *testing.T) {
	defer func() {
		if got, want := recover(), "compact: Summarize: the model is nil: check the error of its constructor"; got != want {
			t.Errorf("got the panic %v, want %q", got, want)
		}
	}()
	compact.Summarize(nil, nil)
}

func TestByModelOptions(t *testing.T) {
	m := plays("ok", nil)
	_, used, err := compact.ByModel(m, &compact.Options{Prompt: "Be brief."})(t.Context(), []run.Message{run.Text(run.RoleUser, strings.Repeat("é", 150_000))})
	if err != nil || used.Cost != nil {
		t.Errorf("got %+v, %v, want no cost without prices", used, err)
	}
	asked := m.Turns()[0].Request
	if asked.System != "Be brief." {
		t.Errorf("got the prompt %q", asked.System)
	}
	if got := asked.Messages[0].Text(); len(got) > 200_000 || strings.ToValidUTF8(got, "") != got {
		t.Errorf("the model got %d bytes, want at most 200,000 in whole characters", len(got))
	}
	down := errors.New("down")
	if _, _, err := compact.ByModel(plays("", down), nil)(t.Context(), nil); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
}
