package cli

import (
	"flag"
	"fmt"
	"strings"
	"time"
)

// Columns of the help.
const (
	lineWidth = 100
	flagWidth = 27 // columns for a flag with its value
)

// Help returns the help of the command.
func (c *Command) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mcpchain %s: %s\n\nUsage:\n", c.Name, c.Summary)
	for _, s := range c.Synopsis {
		fmt.Fprintf(&b, "  mcpchain %s\n", s)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Trim(c.About, "\n"))
	for _, g := range c.groups {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, name := range g.names {
			b.WriteString(describe(c.Lookup(strings.TrimPrefix(name, "-"))))
		}
	}
	for _, s := range c.Sections {
		fmt.Fprintf(&b, "\n%s:\n%s", s.Title, indent(s.Text))
	}
	b.WriteString("\nThe guides: https://github.com/mcpchain/mcpchain/blob/main/docs/README.md\n")
	return b.String()
}

// describe returns the help for a flag. The default is added unless it is zero, or the usage mentions one.
func describe(f *flag.Flag) string {
	name, text := flag.UnquoteUsage(f)
	if standard := defaultText(f); standard != "" && !strings.Contains(text, "default") {
		text += "; default " + standard
	}
	gap := strings.Repeat(" ", flagWidth+3)
	head := strings.TrimSpace("-" + f.Name + " " + name)
	if len(head) < flagWidth {
		head = fmt.Sprintf("%-*s ", flagWidth, head)
	} else {
		head += "\n" + gap
	}
	return "  " + head + strings.Join(fold(text, lineWidth-len(gap)), "\n"+gap) + "\n"
}

// defaultText returns the default of a flag as it is typed, "" for zero: 5m instead of 5m0s.
func defaultText(f *flag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "{}", "map[]":
		return ""
	}
	getter, ok := f.Value.(flag.Getter)
	if !ok {
		return f.DefValue
	}
	text := f.DefValue
	if _, ok := getter.Get().(time.Duration); ok {
		if minutes, whole := strings.CutSuffix(text, "m0s"); whole {
			text = minutes + "m"
		}
		if hours, whole := strings.CutSuffix(text, "h0m"); whole {
			text = hours + "h"
		}
	}
	return text
}

// fold breaks a text into lines at its spaces only, so that flags such as -base-url stay whole.
func fold(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// indent indents the lines of a text by two columns.
func indent(text string) string {
	indented := strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n  ")
	return "  " + strings.ReplaceAll(indented, "\n  \n", "\n\n") + "\n" // empty lines stay empty
}
