package talk

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
)

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
		if got := strings.Join(windowLines(tt.use), "\n"); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}
