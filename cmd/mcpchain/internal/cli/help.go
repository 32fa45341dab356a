package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const (
	lineWidth = 100
	flagWidth = 27 // of the column of flags
)

// Help writes the help of the command.
func (c *Command) Help(out io.Writer) {
	fmt.Fprintf(out, "mcpchain %s: %s\n\nUsage:\n", c.Name, c.Summary)
	for _, s := range c.Synopsis {
		fmt.Fprintf(out, "  mcpchain %s\n", s)
	}
	fmt.Fprintf(out, "\n%s\n", strings.Trim(c.About, "\n"))
	for _, g := range c.groups {
		fmt.Fprintf(out, "\n%s:\n", g.title)
		for _, name := range g.names {
			fmt.Fprint(out, describe(c.Lookup(name)))
		}
	}
	for _, s := range c.Sections {
		fmt.Fprintf(out, "\n%s:\n%s", s.Title, indent(s.Text))
	}
	fmt.Fprintf(out, "\nThe guides: https://github.com/mcpchain/mcpchain/blob/main/docs/README.md\n")
}

// describe writes a flag and what it does, with its default.
func describe(f *flag.Flag) string {
	name, text := flag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "false", "{}", "map[]":
	default:
		if !strings.Contains(text, "default") {
			text += fmt.Sprintf("; default %s", f.DefValue)
		}
	}
	head := strings.TrimSpace("-" + f.Name + " " + name)
	if len(head) >= flagWidth {
		head += "\n"
	} else {
		head = fmt.Sprintf("%-*s ", flagWidth, head)
	}
	gap := strings.Repeat(" ", flagWidth+3)
	if strings.HasSuffix(head, "\n") {
		head += gap
	}
	return "  " + head + strings.Join(fold(text, lineWidth-len(gap)), "\n"+gap) + "\n"
}

// fold breaks a text into lines at its spaces alone, so that no flag is broken.
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

// indent sets lines in by two places.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n  "), "\n  \n", "\n\n") + "\n"
}
