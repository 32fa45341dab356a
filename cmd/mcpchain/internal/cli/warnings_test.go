package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Each warning is shown once, and not all of many.
func TestWarnings(t *testing.T) {
	var shown, want strings.Builder
	log := Warnings(func(line string) { fmt.Fprintln(&shown, line) }).With("server", "loud")
	log.Info("not shown")
	for n := range maxWarnings + 5 {
		for range 2 {
			log.Warn("odd", "text", "a\x1b[31m\nb", "n", n)
		}
		if n < maxWarnings {
			fmt.Fprintf(&want, "warning: msg=odd server=loud text=\"a\\x1b[31m\\nb\" n=%d\n", n)
		}
	}
	check.Equal(t, "", shown.String(), want.String()+"warning: more of this is not shown\n")
}
