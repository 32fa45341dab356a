// Package usage writes the flags of a command, and what is wrong with its command line, in one form for all commands.
package usage

import (
	"flag"
	"fmt"
	"strings"
)

// Error is a mistake on the command line of a command.
type Error struct{ Command, Reason string }

// Error implements error.
func (e *Error) Error() string {
	return e.Reason + "; mcpchain " + e.Command + " -help lists the flags"
}

// Flags lists the flags, one on each line. The text of a flag says its default, unless the package flag knows it.
func Flags(flags *flag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		switch f.DefValue {
		case "", "0", "0s", "false", "{}", "map[]":
		default:
			if !strings.Contains(text, "default") {
				text += fmt.Sprintf(" (default %s)", f.DefValue)
			}
		}
		fmt.Fprintf(&b, "  %-26s %s\n", strings.TrimSpace("-"+f.Name+" "+name), text)
	})
	return b.String()
}
