// Package cli is the command line of all commands: their flags in groups, their help, and what may be typed.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

// Command is a command of the program.
type Command struct {
	Name     string   // such as "serve -api"
	Summary  string   // in the list of commands
	Synopsis []string // without "mcpchain"
	About    string   // what it does
	Sections []Section
	Main     func(args []string) int // returns the exit status
	Words    []string                // what may stand behind the name, beside files and flags

	*flag.FlagSet // writes nothing by itself
	groups        []group
}

// Section is a part of the help behind the flags.
type Section struct{ Title, Text string }

// group are flags that belong together.
type group struct {
	title string
	names []string // sorted
}

// New returns a command without flags.
func New(name, summary string) *Command {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return &Command{Name: name, Summary: summary, FlagSet: flags}
}

// Group declares flags that stand under a title in the help.
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

func (c *Command) names() (names []string) {
	c.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// Given reports whether a flag is on the command line.
func (c *Command) Given(name string) (given bool) {
	c.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// Error is a mistake on the command line of a command.
type Error struct{ Command, Reason string }

// Error implements error.
func (e *Error) Error() string {
	return e.Reason + "; mcpchain " + e.Command + " -help lists the flags"
}

// Wrong is a mistake on the command line.
func (c *Command) Wrong(format string, args ...any) error {
	return &Error{c.Name, fmt.Sprintf(format, args...)}
}

// FileError means that a whole file that the command line names cannot be read, or is not what it should be.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Arguments reads a command line, and returns the words between the flags. The error is [flag.ErrHelp], with the help
// written to out, or an [*Error].
func (c *Command) Arguments(args []string, out io.Writer) (words []string, err error) {
	for rest := args; ; rest = c.Args()[1:] {
		err := c.FlagSet.Parse(rest)
		switch {
		case errors.Is(err, flag.ErrHelp):
			c.Help(out)
			return nil, err
		case err != nil:
			return nil, c.Wrong("%s", c.explain(err))
		case c.NArg() == 0:
			return words, nil
		}
		words = append(words, c.Arg(0))
	}
}

// Package flag has these errors as texts only.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)
	badValue    = regexp.MustCompile(`^invalid .* for (?:flag )?-(\S+): parse error$`)
)

// explain adds to an error of package flag what helps: the flag that was probably meant, or how its value is written.
func (c *Command) explain(err error) string {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		if near := spelling.Nearest(m[1], c.names()); near != "" {
			text += fmt.Sprintf("; did you mean %q?", "-"+near)
		}
		return text
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return strings.TrimSuffix(text, "parse error") + wanted(c.Lookup(m[1]))
	}
	return text
}

// wanted says how the value of a flag is written.
func wanted(f *flag.Flag) string {
	switch value(f).(type) {
	case time.Duration:
		return "want a time such as 30s, 5m or 720h"
	case bool:
		return "want true or false"
	case float64:
		return "want a number"
	}
	return "want a whole number"
}

// value is the value of a flag, nil if its type does not tell.
func value(f *flag.Flag) any {
	if getter, ok := f.Value.(flag.Getter); ok {
		return getter.Get()
	}
	return nil
}

// NoWords is [Command.Arguments] of a command that takes flags alone.
func (c *Command) NoWords(args []string, out io.Writer) error {
	words, err := c.Arguments(args, out)
	if err == nil && len(words) > 0 {
		return c.Wrong("unexpected argument %q", words[0])
	}
	return err
}

// The exit statuses that all commands have.
const (
	StatusFine   = 0
	StatusFailed = 1
	StatusUsage  = 2
)

// Status reports an error to a person, and returns the exit status.
func Status(err error, errs io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return StatusFine
	}
	fmt.Fprintln(errs, "mcpchain:", hosttext.Line(err.Error(), 4000))
	_, line := errors.AsType[*Error](err)
	_, file := errors.AsType[*FileError](err)
	if line || file {
		return StatusUsage
	}
	return StatusFailed
}

// Complete lists what may stand at the place of the last word, behind the name of the command.
func (c *Command) Complete(words []string) (found []string) {
	last := words[len(words)-1]
	switch {
	case strings.HasPrefix(last, "-"):
		for _, name := range c.names() {
			found = append(found, "-"+name)
		}
	case len(words) == 1:
		found = c.Words
	}
	return slices.DeleteFunc(slices.Clone(found), func(word string) bool { return !strings.HasPrefix(word, last) })
}

// Place is a file or folder of the program in the person's configuration, "" if there is no place for it.
func Place(names ...string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(slices.Concat([]string{dir, "mcpchain"}, names)...)
}

// Statuses is the section on exit statuses, with those that only this command has.
func Statuses(more map[int]string) Section {
	all := map[int]string{StatusFine: "no failure", StatusFailed: "a failure", StatusUsage: "the command line is wrong, or a whole file that it names"}
	maps.Copy(all, more)
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%-4d %s\n", status, all[status])
	}
	return Section{"Exit status", b.String()}
}
