package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNarrow(t *testing.T) {
	c := Completion{Items: []Item{{Text: "remember"}, {Text: "Member"}, {Text: "other"}}}
	for part, want := range map[string][]Item{
		"mem": {{Text: "Member"}, {Text: "remember"}},
		"x":   nil,
		"":    c.Items,
	} {
		if diff := cmp.Diff(want, c.Narrow(part)); diff != "" {
			t.Errorf("%s: -want +got\n%s", part, diff)
		}
	}
}
