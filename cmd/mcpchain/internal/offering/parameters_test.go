package offering

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestParameters(t *testing.T) {
	const schema = `{"type":"object","required":["z"],"properties":{
		"z":{"type":"string","description":"last\u001b[2J"},"a":{"type":["integer","null"]},"b":{"enum":["x",1],"default":1},"c":{},
		"of":{"type":"array","items":{"type":"object","properties":{"d":{"type":"boolean"}}}}}}`
	const want = "z (string, required) last\\x1b[2J\na (integer or null)\nb (one of x | 1, default 1)\nc\nof (list of object)\n  d (boolean)"
	check.Equal(t, "", strings.Join(Parameters(json.RawMessage(schema)), "\n"), want)
	deep := `{"type":"string"}`
	for range 60 {
		deep = `{"type":"array","items":` + deep + `}`
	}
	check.Equal(t, "deep", strings.Join(Parameters(json.RawMessage(`{"properties":{"a":`+deep+`}}`)), "\n"), "a (list of list of list of list of array)")
	many := map[string]any{}
	for n := range 70 {
		many[fmt.Sprint("x", n)] = map[string]any{}
	}
	got := Parameters(check.Value(json.Marshal(map[string]any{"properties": many}))(t))
	check.That(t, len(got) == maxLines+1 && got[maxLines] == "… (10 more lines)", "got %d lines, want %d", len(got), maxLines+1)
}
