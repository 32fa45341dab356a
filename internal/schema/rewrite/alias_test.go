package rewrite

import (
	"strings"
	"testing"
)

func TestAliases(t *testing.T) {
	long := strings.Repeat("é", 50)
	properties := map[string]bool{"ok": true, "a b": true, "a/b": true, "a_b": true, "": true, long: true, strings.Repeat("x", 65): true}
	c := collector{names: properties}
	aliases := c.aliases()
	if len(aliases) != 5 {
		t.Errorf("got %v, want one for each of 5 odd names", aliases)
	}
	for alias, name := range aliases {
		if _, taken := properties[alias]; taken || !plainName.MatchString(alias) {
			t.Errorf("got the alias %q of %q, want a plain name of its own", alias, name)
		}
	}
	diff(t, "got others the second time", c.aliases(), aliases)
}
