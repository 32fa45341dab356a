package talk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A value ends at the next key. Quotes around a value are removed, and allow keys in it.
func TestPromptArguments(t *testing.T) {
	for typed, want := range map[string]map[string]string{
		`city=Oslo people=2`:             {"city": "Oslo", "people": "2"},
		`city=New York people=2`:         {"city": "New York", "people": "2"},
		`city="New York" people=2`:       {"city": "New York", "people": "2"},
		`q="a=b and c=d" n=1`:            {"q": "a=b and c=d", "n": "1"},
		`q="" n="1"`:                     {"q": "", "n": "1"},
		`height=5" width=3`:              {"height": `5"`, "width": "3"},
		`q="open n=1`:                    {"q": `"open`, "n": "1"},
		`a="x" b="y z"`:                  {"a": "x", "b": "y z"},
		`sum=a = b`:                      {"sum": "a = b"},
		`n=1 =2 n=3`:                     {"n": "3"},
		"code=\"if x {\n  y  z\n}\" n=1": {"code": "if x {\n  y  z\n}", "n": "1"},
	} {
		got, err := parseArguments(typed)
		diff := cmp.Diff(want, got)
		check.That(t, diff == "" && err == nil, "%s: %v, -want +got\n%s", typed, err, diff)
	}
	for typed, want := range map[string]string{
		`Oslo`:           "want key=value, got Oslo",
		`a="x b=1 c="y"`: `want key=value, got y"`,
	} {
		check.Equal(t, typed, fmt.Sprint(check.Err(parseArguments(typed))), want)
	}
}

// A name with blanks is in quotes, as the list and the completion of prompts show it.
func TestNamesOfPrompts(t *testing.T) {
	for _, tt := range [][3]string{
		{"plan n=1", "plan", " n=1"}, {quoted("my plan") + " n=1", "my plan", " n=1"}, {"plan\nn=1", "plan", "\nn=1"}, {"", "", ""}, {`"my pl`, `"my pl`, ""},
	} {
		name, rest := cutName(tt[0])
		check.Same(t, tt[0], [2]string{name, rest}, [2]string{tt[1], tt[2]})
	}
}

func TestContext(t *testing.T) {
	for _, tt := range []struct {
		use  *agent.WindowUse
		want string
	}{
		{nil, "the model was not asked yet"},
		{&agent.WindowUse{Estimated: true, Input: 7, History: 7}, "the last call of the model: about 7 tokens\n       0  instructions\n       7  messages\n       0  results of tools"},
		{&agent.WindowUse{Size: 200, Instructions: 1, Servers: []agent.ServerTools{{Server: "a", Tools: 1, Tokens: 20}, {Server: "b", Tools: 12, Tokens: 30}}, History: 4, Results: 45, Input: 100, Cached: 50},
			"the last call of the model: 100 tokens, 50% of a window of 200; 50 from a cache\n       1  instructions\n      20  1 tool of a\n      30  12 tools of b\n       4  messages\n      45  results of tools"},
	} {
		check.Equal(t, "", strings.Join(windowLines(tt.use), "\n"), tt.want)
	}
}

// A server whose list has no end does not fill the memory.
func TestOffersAreBounded(t *testing.T) {
	endless := func(yield func(*mcp.Prompt, error) bool) {
		for yield(&mcp.Prompt{Name: "x"}, nil) {
		}
	}
	all, err := collectEntries(endless, func(p *mcp.Prompt) entry { return entry{name: p.Name} })
	check.Text(t, err, "more than 10000")
	check.Equal(t, "entries", len(all), maxOffers)
}

// A name with characters that cannot be typed or seen is not offered.
func TestOffered(t *testing.T) {
	for name, want := range map[string]int{
		"plain name": 1, "größe": 1, "": 0, "a\x1b[2J": 0, "a\nb": 0, "a\u202eb": 0, "a\u200bb": 0, strings.Repeat("x", maxItemText): 1, strings.Repeat("x",
			maxItemText+1): 0,
	} {
		check.Equal(t, name, len(addItem(nil, name, "about", false)), want)
	}
	got := addItem(nil, "a", "b\x1b[2J\nc", true)[0]
	check.That(t, got.About == `b\x1b[2J c` && got.Open, "got %+v", got)
}
