package config

import (
	"errors"
	"fmt"
	"strings"
)

// place is a place in a file.
type place struct {
	File string
	Line int    // from 1
	Key  string // in the document, such as mcpServers.files.args[0]; "" for the document itself
}

// fault is a mistake in a file, with its place.
type fault struct {
	place
	reason string
}

// Error has file, line, key and reason on one line.
func (e *fault) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Key, e.reason)
}

// serverError is an error about a server of a file, such as an error of connecting to it.
type serverError struct {
	place

	name string
	err  error
}

// ErrEntry is matched by errors of [Server.Annotate]: their text begins with the file and the line
// of the server's entry, or of the mistake in it.
var ErrEntry = errors.New("config: error of a server in a file")

// Annotate adds the name and the place of the server to an error about it, for a person who has to
// change the file: mcp.json:3: server "files": connection closed. A mistake in the entry keeps its
// own place. The result matches [ErrEntry], and is nil for nil.
func (s *Server) Annotate(err error) error {
	if err == nil {
		return nil
	}
	e := &serverError{s.place, s.Name, err}
	if mistake, ok := errors.AsType[*fault](err); ok {
		e.place = mistake.place
		short := *mistake
		short.Key = strings.TrimPrefix(strings.TrimPrefix(mistake.Key, s.place.Key), ".")
		e.err = &short
	}
	return e
}

// Error gives file, line, server and reason: mcp.json:3: server "files": connection closed. If the
// reason names the server, as errors of package adapter do, it is named once.
func (e *serverError) Error() string {
	server := fmt.Sprintf("server %q: ", e.name)
	reason := strings.TrimPrefix(e.err.Error(), server)
	if mistake, ok := e.err.(*fault); ok {
		reason = mistake.reason
		if mistake.Key != "" {
			reason = mistake.Key + ": " + reason
		}
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, server, reason)
}

func (e *serverError) Unwrap() error        { return e.err }
func (e *serverError) Is(target error) bool { return target == ErrEntry }
