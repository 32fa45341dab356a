package rewrite

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestAliases(t *testing.T) {
	long := strings.Repeat("é", 50)
	properties := map[string]bool{"ok": true, "a b": true, "a/b": true, "a_b": true, "": true, long: true, strings.Repeat("x", 65): true}
	described := map[string]any{}
	for name := range properties {
		described[name] = map[string]any{}
	}
	root := map[string]any{"properties": described}
	aliases := Aliases(root)
	check.Equal(t, "one for each of 5 odd names", len(aliases), 5)
	for alias, name := range aliases {
		if _, taken := properties[alias]; taken || !plainName.MatchString(alias) {
			t.Errorf("got the alias %q of %q, want a plain name of its own", alias, name)
		}
	}
	check.Same(t, "got others the second time", Aliases(root), aliases)
}
