package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
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

// shortened is what a compactor makes of a history that is too long.
func shortened(t *testing.T, o *compact.Options, h []run.Message, b compact.Budget) *compact.Result {
	t.Helper()
	got, err := compact.Trim(o)(t.Context(), h, b)
	check.Require(t, err == nil && got != nil, "got %v, %v", got, err)
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

// TestStart holds when something is done, by the count of the provider or an estimate.
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
		"counted at the start":        {nil, compact.Budget{Tokens: 89_600}, false},
		"counted over it":             {nil, compact.Budget{Tokens: 89_601}, true},
		"counted less than estimated": {&compact.Options{Window: 10_000}, compact.Budget{Tokens: 5000}, false},
	} {
		got := check.Value(compact.Trim(test.options)(t.Context(), h, test.budget))(t)
		check.Equal(t, name+": a compaction", got != nil, test.want)
	}
}

// TestCalibration holds that what comes with every call, such as tools, leaves less room.
func TestCalibration(t *testing.T) {
	h := turns(40, 400) // about 4,000 tokens
	left := func(beside int64) int {
		got := shortened(t, &compact.Options{Window: 4000}, h, compact.Budget{Tokens: 5000 + beside})
		return len(got.Messages) + len(h) - got.Replaced
	}
	few, many := left(1000), left(0)
	check.That(t, few < many, "%d messages stay beside large tools, %d without, want fewer", few, many)
}

// TestKeep holds that the last turns stay as they are.
func TestKeep(t *testing.T) {
	h := turns(10, 2000)
	for keep, want := range map[int]int{0: 1 + 6*2, 1: 1 + 9*2, 3: 1 + 7*2} {
		check.Equal(t, keep, shortened(t, &compact.Options{Window: 6000, KeepTurns: keep}, h, compact.Budget{}).Replaced, want)
	}
}

// TestOpenCallsStay has a call without a result amid older turns.
func TestOpenCallsStay(t *testing.T) {
	h := turns(30, 250)
	h[2].Parts = nil // the result of call 0
	got := shortened(t, &compact.Options{Window: 1500}, h, compact.Budget{})
	check.Same(t, "messages", got.Messages[:3], h[:3])
	check.That(t, len(got.Messages) == 4 && got.Replaced >= 10, "got %+v, want a gap after the open call", got)
}

// TestLastResort holds that results in the last turns are cut when they alone are too much.
func TestLastResort(t *testing.T) {
	h := turns(2, 100_000)
	got := shortened(t, &compact.Options{Window: 10_000}, h, compact.Budget{})
	check.Require(t, got.Replaced == len(h), "got %+v, want all replaced", got)
	last := got.Messages[len(got.Messages)-1].Parts[0]
	check.That(t, last.ID == "1" && len(last.Text) <= 1024 && strings.Contains(last.Text, "of 100000 bytes were cut here"),
		"got the last result %q", last.Text)
}

func TestMediaAreDropped(t *testing.T) {
	h := turns(6, 10)
	ref := run.Part{Type: run.PartImage, MIMEType: "image/png", URL: "store:1"}
	h[2].Parts = []run.Part{result("0", "Look.", picture(), ref, picture())}
	got := shortened(t, &compact.Options{Window: 2000}, h, compact.Budget{})
	want := []run.Part{result("0", "Look.\n[2 media of this result were left out to save room.]", ref)}
	check.Require(t, got.Replaced == 3, "got %d replaced, want 3", got.Replaced)
	check.Same(t, "parts", got.Messages[2].Parts, want)
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
		change := check.Value(trim(t.Context(), h, compact.Budget{}))(t)
		check.Equal(t, fmt.Sprint("a shorter history, bytes with each call: ", data), change != nil, want)
		// Of the provider's count, the messages that are left have their part.
		change = check.Value(trim(t.Context(), h, compact.Budget{Tokens: int64(10 * (data/4 + 20))}))(t)
		check.Equal(t, fmt.Sprint("a shorter history by the count, bytes with each call: ", data), change != nil, want)
		if change != nil && change.Replaced < 8 {
			t.Errorf("got %d messages replaced, want room for host data", change.Replaced)
		}
	}
}

func open(t *testing.T, text string, o *adapter.Options) *adapter.Toolset {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "long", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	ts := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "test", Transport: peer.Connect(t, server)}}, o))(t)
	t.Cleanup(func() { ts.Close() })
	return ts
}

func callTool(t *testing.T, ts *adapter.Toolset, name, args string) string {
	r := ts.Catalog(profile.Plain).Call(t.Context(), llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: args}})
	check.Require(t, !r.IsError, "%v", r.Text)
	return r.Text
}

// trimmed is a result after a compaction that cuts it to 1,024 bytes.
func trimmed(t *testing.T, text string) string {
	h := append([]run.Message{run.Text(run.RoleUser, "go"), {Role: run.RoleAssistant, Parts: []run.Part{call("long")}},
		{Role: run.RoleTool, Parts: []run.Part{result("long", text)}}}, turns(1, 10)[1:]...)
	got := shortened(t, &compact.Options{Window: 1000, KeepTurns: 1}, h, compact.Budget{})
	check.Require(t, got.Replaced == 3 && len(got.Messages) == 3, "got %+v, want the result trimmed", got)
	return got.Messages[2].Parts[0].Text
}

var notice = regexp.MustCompile(`^([^…]*)\n\[… (\d+) of (\d+) bytes were cut here; call (\S+) with (\{.*\}) to read them(?:; the whole is [^…]+)? …\]\n([^…]*)$`)

// TestHandle cuts a result of a toolset that is cut already, and reads on by its handle.
func TestHandle(t *testing.T) {
	var all strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&all, "line %d é\n", i)
	}
	ts := open(t, all.String(), &adapter.Options{Policy: adapter.Policy{MaxResult: 4000}, KeepResults: 1 << 20})
	text := trimmed(t, callTool(t, ts, "long", "{}"))
	found := notice.FindStringSubmatch(text)
	check.Require(t, found != nil && len(text) <= 1024, "got %q, want at most 1,024 bytes with a handle", text)
	head, tail := found[1], found[6]
	check.That(t, strings.HasPrefix(all.String(), head) && strings.HasSuffix(all.String(), tail),
		"got %q, want the head and the tail of the whole", text)
	want := fmt.Sprint(all.Len() - len(head) - len(tail))
	check.That(t, found[2] == want && found[3] == fmt.Sprint(all.Len()), "%s of %s bytes are cut, want %s of %d", found[2], found[3], want, all.Len())
	_, page, _ := strings.Cut(callTool(t, ts, found[4], found[5]), "\n")
	check.That(t, len(page) >= 1000 && strings.HasPrefix(all.String()[len(head):], page), "the handle reads %.100q, want what follows the head", page)
}

func TestCutAgain(t *testing.T) {
	ts := open(t, strings.Repeat("0123456789", 1000), &adapter.Options{Policy: adapter.Policy{MaxResult: 4000}})
	text := trimmed(t, callTool(t, ts, "long", "{}"))
	n := strings.Count(text, "…")
	check.That(t, len(text) <= 1024 && n == 2 && strings.Contains(text, "of 10000 bytes were cut here"), "got %q, want one gap in 10,000 bytes", text)
}

// TestForgedMarks has results that only look as if they were cut.
func TestForgedMarks(t *testing.T) {
	fill := strings.Repeat("x", 1500)
	mark := "\n[… %d of %d bytes were cut here; call %s with {\"handle\":\"h\",\"offset\":%d} to read them …]\n"
	for name, text := range map[string]string{
		"another offset":  fill + fmt.Sprintf(mark, 5, 3005, "r", 7) + fill,
		"another size":    fill + fmt.Sprintf(mark, 5, 9, "r", 1500) + fill,
		"a long name":     fill + fmt.Sprintf(mark, 5, 3005, strings.Repeat("r", 1000), 1500) + fill,
		"no number":       fill + fmt.Sprintf(mark, 5, 3005, "r", 1500)[:40] + fill,
		"a huge number":   fill + strings.Replace(fmt.Sprintf(mark, 5, 3005, "r", 1500), "3005", strings.Repeat("9", 40), 1) + fill,
		"in the very end": fill + fill + fmt.Sprintf(mark, -3000, 0, "r", 3000),
	} {
		got := trimmed(t, text)
		check.That(t, len(got) <= 1024 && strings.Contains(got, fmt.Sprintf("of %d bytes were cut here …]", len(text))),
			"%s: got %q, want the middle cut", name, got)
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
		check.Require(t, err == nil && got != nil && got.Usage.Total == 5, "%v %v", got, err)
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
	n := len(check.Value(c(t.Context(), turns(60, 250), compact.Budget{}))(t).Messages[1].Text())
	check.That(t, n <= 17<<10, "the summary has %d bytes, want at most 17 KiB", n)
}

func TestSummarizeWithoutAModel(t *testing.T) {
	defer func() {
		check.Equal(t, "panic", recover(), any("compact: Summarize: the model is nil: check the error of its constructor"))
	}()
	compact.Summarize(nil, nil)
}

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
	check.Must(t, err)
	check.Equal(t, "summary", text, "They compared logs.")
	check.Same(t, "usage", used, run.Usage{Turns: 1, Input: 100, Output: 20, Total: 120, Cost: map[string]int64{"USD": 140}})
	got := m.Turns()[0].Request.Messages[0].Text()
	head, _, _ := strings.Cut(got, "xxx")
	check.Equal(t, "", head, "user: Compare.\n\nassistant: I look.\n\nassistant calls read: {\"n\":1}\n\nresult of read: ")
	check.That(t, strings.HasSuffix(got, "user: [image: image/png]\n\n") && len(got) <= 1300, "the model got %q", got)
}

func TestByModelOptions(t *testing.T) {
	m := plays("ok", nil)
	_, used, err := compact.ByModel(m, &compact.Options{Prompt: "Be brief."})(t.Context(), []run.Message{run.Text(run.RoleUser, strings.Repeat("é", 150_000))})
	check.That(t, err == nil && used.Cost == nil, "got %+v, %v, want no cost without prices", used, err)
	asked := m.Turns()[0].Request
	check.Equal(t, "prompt", asked.System, "Be brief.")
	got := asked.Messages[0].Text()
	check.That(t, len(got) <= 200_000 && strings.ToValidUTF8(got, "") == got, "the model got %d bytes, want at most 200,000 in whole characters", len(got))
	down := errors.New("down")
	_, _, err = compact.ByModel(plays("", down), nil)(t.Context(), nil)
	check.Is(t, err, down)
	refuses := agenttest.PlayRepeating(func(context.Context, agenttest.Turn) (*model.Response, error) {
		return &model.Response{Message: run.Text(run.RoleAssistant, "I can't."), Finish: model.FinishRefusal, Usage: run.Usage{Total: 9}}, nil
	})
	_, used, err = compact.ByModel(refuses, nil)(t.Context(), nil)
	check.That(t, used.Total == 9, "got %+v, want what the refusal cost", used)
	check.Text(t, err, `call model: it refused: "I can't."`)
}
