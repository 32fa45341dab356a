// Package cli has what the commands share: groups of flags, help, completion, errors and exit statuses.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// Command is a command of the program.
type Command struct {
	Name     string                  // such as "serve -api"
	Summary  string                  // for the list of commands
	Synopsis []string                // forms of the command line, without "mcpchain"
	About    string                  // what the command does, below the synopsis
	Sections []Section               // sections of the help, after the flags
	Main     func(args []string) int // runs the command, and returns the exit status
	Words    []string                // completions of the first argument, beside files and flags

	*flag.FlagSet // does not print
	groups        []group
}

// Section is a section of the help.
type Section struct{ Title, Text string }

// group is a group of flags in the help.
type group struct {
	title string
	names []string // the names of the flags, sorted and with their hyphens
}

// New returns a command without flags.
func New(name, summary string) *Command {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return &Command{Name: name, Summary: summary, FlagSet: flags}
}

// Group declares flags that the help lists under a title.
func (c *Command) Group(title string, declare func(*flag.FlagSet)) {
	before := c.names()
	declare(c.FlagSet)
	added := slices.DeleteFunc(c.names(), func(name string) bool { return slices.Contains(before, name) })
	if i := slices.IndexFunc(c.groups, func(g group) bool { return g.title == title }); i >= 0 {
		c.groups[i].names = slices.Sorted(slices.Values(append(c.groups[i].names, added...)))
		return
	}
	c.groups = append(c.groups, group{title, added})
}

// names returns the names of all flags, sorted and with their hyphens.
func (c *Command) names() (names []string) {
	c.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
	return names
}

// Given reports whether a flag is on the command line.
func (c *Command) Given(name string) (given bool) {
	c.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// Arguments parses a command line, and returns the arguments that are not flags. Flags may follow them. The error is
// [flag.ErrHelp] after the help was written to out, why that was not possible, or an [*Error].
func (c *Command) Arguments(args []string, out io.Writer) (words []string, err error) {
	for rest := args; ; rest = c.Args()[1:] {
		err := c.FlagSet.Parse(rest)
		switch {
		case errors.Is(err, flag.ErrHelp):
			if _, failed := io.WriteString(out, c.Help()); failed != nil {
				err = fmt.Errorf("write the help: %w", failed)
			}
			return nil, err
		case err != nil:
			return nil, c.Wrong("%s", c.explain(err))
		case c.NArg() == 0:
			return words, nil
		}
		words = append(words, c.Arg(0))
	}
}

// The texts of errors of package flag, which has no types for them.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)
	badValue    = regexp.MustCompile(`^invalid .* for (?:flag )?-(\S+): parse error$`)
)

// explain adds to an error of package flag what helps: the flag that was probably meant, or how its value is written.
func (c *Command) explain(err error) string {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return "there is no flag -" + m[1] + spelling.Hint("-"+m[1], c.names())
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return strings.TrimSuffix(text, "parse error") + valueHint(c.Lookup(m[1]))
	}
	return text
}

// valueHint describes how the value of a flag is written.
func valueHint(f *flag.Flag) string {
	getter, ok := f.Value.(flag.Getter)
	if !ok {
		return "want another value"
	}
	switch getter.Get().(type) {
	case time.Duration:
		return "want a time such as 30s, 5m or 720h"
	case bool:
		return "want true or false"
	case float64:
		return "want a number"
	}
	return "want a whole number"
}

// NoWords parses the command line of a command that takes only flags, like [Command.Arguments].
func (c *Command) NoWords(args []string, out io.Writer) error {
	words, err := c.Arguments(args, out)
	if err == nil && len(words) > 0 {
		return c.Wrong("unexpected argument %q", words[0])
	}
	return err
}

// Complete returns the completions of the last word. words follow the name of the command.
func (c *Command) Complete(words []string) (found []string) {
	last := words[len(words)-1]
	switch {
	case strings.HasPrefix(last, "-"):
		found = c.names()
	case len(words) == 1:
		found = c.Words
	}
	return slices.DeleteFunc(slices.Clone(found), func(word string) bool {
		return !strings.HasPrefix(word, last)
	})
}

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
