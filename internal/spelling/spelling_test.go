package spelling

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 3, 0}, {"args", "args", 3, 0}, {"", "ab", 3, 2}, {"comand", "command", 3, 1}, {"ulr", "url", 3, 2},
		{"kitten", "sitting", 9, 3}, {"kitten", "sitting", 2, 2}, {"a", "abcdefgh", 3, 3},
	} {
		check.Equal(t, fmt.Sprintf("%q and %q up to %d", test.a, test.b, test.limit), distanceOf(test.a, test.b, test.limit), test.want)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"args", "command", "url"}
	for word, want := range map[string]string{"comand": "command", "URL": "url", "ulr": "url", "arguments": "", "": "", "xyz": "", "x": "", "ab": "", "uxy": ""} {
		check.Equal(t, word, Nearest(word, known), want)
	}
}
