package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A long list ends with a whole name, and says how many are left out.
func TestFit(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("tool_%02d", i))
	}
	got := fit(names)
	if list, more, _ := strings.Cut(got, ", and "); more != "67 more (-server shows all)" || !strings.HasSuffix(list, ", tool_32") {
		t.Errorf("got %s", got)
	}
	check.Equal(t, "", fit(names[:2]), "tool_00, tool_01")
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"get-sum_2.v": true, strings.Repeat("a", maxName): true,
		"": false, "has space": false, "ü": false, "a/b": false, strings.Repeat("a", maxName+1): false,
	} {
		if isName(name) != want {
			t.Errorf("%q: got %v, want %v", name, !want, want)
		}
	}
}
