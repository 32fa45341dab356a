package config

import (
	"errors"
	"fmt"
	"strings"
)

// Place is a place in a file.
type Place struct {
	File string
	Line int    // from 1
	Key  string // in the document, such as mcpServers.files
}

// ServerError is an error about a server of a file, such as that of a connection to it.
type ServerError struct {
	Place

	name string
	err  error
}

// At adds the name and the place of the server to an error about it, for a person who has to
// change the file. A mistake in the entry, an [*Error], has a place of its own. The result is a
// [*ServerError], and nil for nil.
func (s *Server) At(err error) error {
	if err == nil {
		return nil
	}
	e := &ServerError{s.Place, s.Name, err}
	if mistake, ok := errors.AsType[*Error](err); ok {
		e.Place = Place{mistake.file, mistake.line, mistake.key}
		short := *mistake
		short.key = strings.TrimPrefix(strings.TrimPrefix(mistake.key, s.Place.Key), ".")
		e.err = &short
	}
	return e
}

// Error gives file, line, server and reason: mcp.json:3: server "files": connection closed. If the
// reason names the server, as errors of package adapter do, it is named once.
func (e *ServerError) Error() string {
	server := fmt.Sprintf("server %q: ", e.name)
	reason := strings.TrimPrefix(e.err.Error(), server)
	if mistake, ok := e.err.(*Error); ok {
		if reason = mistake.reason; mistake.key != "" {
			reason = mistake.key + ": " + reason
		}
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, server, reason)
}

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.err }
