package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Error is a mistake on the command line of a command, or in the name of the command if Command is "".
type Error struct{ Command, Reason string }

// Error implements error.
func (e *Error) Error() string {
	if e.Command == "" {
		return e.Reason + "; mcpchain help lists the commands"
	}
	return e.Reason + "; mcpchain " + e.Command + " -help lists the flags"
}

// Wrong returns an [*Error].
func (c *Command) Wrong(format string, args ...any) error {
	return &Error{c.Name, fmt.Sprintf(format, args...)}
}

// Refuse returns an error about the value of a flag. An error of a file or the environment stays a
// [*FileError]: the list of flags does not help.
func (c *Command) Refuse(err error) error {
	if _, ok := errors.AsType[*models.SettingError](err); ok {
		return &FileError{err}
	}
	if _, ok := errors.AsType[*FileError](err); ok {
		return err
	}
	return c.Wrong("%v", err)
}

// FileError means that a file that the command line names, or the environment, cannot be used. It
// has the exit status of a wrong command line.
type FileError struct{ Err error }

// Error implements error.
func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// The exit statuses of all commands.
const (
	StatusFine   = 0
	StatusFailed = 1
	StatusUsage  = 2
)

// maxErrorText bounds a shown error, in characters.
const maxErrorText = 4000

// Status writes an error to errs, and returns the exit status for it.
func Status(err error, errs io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return StatusFine
	}
	fmt.Fprintln(errs, "mcpchain:", hosttext.Line(err.Error(), maxErrorText))
	_, isUsage := errors.AsType[*Error](err)
	_, isFile := errors.AsType[*FileError](err)
	if isUsage || isFile {
		return StatusUsage
	}
	return StatusFailed
}

// Statuses returns the section on exit statuses. own has the command's statuses, which replace general ones.
func Statuses(own map[int]string) Section {
	all := map[int]string{
		StatusFine:   "no failure",
		StatusFailed: "a failure",
		StatusUsage:  "the command line, or a file that it names, is invalid",
	}
	maps.Copy(all, own)
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%-4d %s\n", status, all[status])
	}
	return Section{"Exit status", b.String()}
}
