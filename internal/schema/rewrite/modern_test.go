package rewrite

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// The changes of one schema are listed in the same order every time.
func TestOrderOfChanges(t *testing.T) {
	in := decode(t, `{"properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}}}`)
	var want []string
	for i := range 50 {
		var got []string
		for _, c := range For(profile.OpenAI, in, nil).Changes {
			got = append(got, c.Path+" "+c.Keyword)
		}
		if i == 0 {
			want = got
		}
		check.Same(t, fmt.Sprintf("run %d", i), got, want)
	}
}
