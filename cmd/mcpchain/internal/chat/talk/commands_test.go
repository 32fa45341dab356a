package talk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A value ends at the next key. Quotes around a value are removed, and allow keys in it.
func TestPromptArguments(t *testing.T) {
	for typed, want := range map[string]map[string]string{
		`city=Oslo people=2`:       {"city": "Oslo", "people": "2"},
		`city=New York people=2`:   {"city": "New York", "people": "2"},
		`city="New York" people=2`: {"city": "New York", "people": "2"},
		`q="a=b and c=d" n=1`:      {"q": "a=b and c=d", "n": "1"},
		`q="" n="1"`:               {"q": "", "n": "1"},
		`q="a" or "b"`:             {"q": `"a" or "b"`},
		`height=5" width=3`:        {"height": `5"`, "width": "3"},
		`q="open n=1`:              {"q": `"open`, "n": "1"},
		`a="x" b="y z"`:            {"a": "x", "b": "y z"},
		`sum=a = b`:                {"sum": "a = b"},
	} {
		got, err := parseArguments(strings.Fields(typed))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got\n%s", typed, err, diff)
		}
	}
	if _, err := parseArguments([]string{"Oslo"}); err == nil || err.Error() != "want key=value, got Oslo" {
		t.Errorf("got %v", err)
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
