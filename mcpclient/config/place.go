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
	Name string
	Place
	Err error
}

// At adds the name and the place of the server to an error about it, for a person who has to
// change the file. A mistake in the entry, an [*Error], has a place of its own. The result is a
// [*ServerError], and nil for nil.
func (s *Server) At(err error) error {
	if err == nil {
		return nil
	}
	e := &ServerError{s.Name, s.Place, err}
	if mistake, ok := errors.AsType[*Error](err); ok {
		e.Place = Place{mistake.File, mistake.Line, mistake.Key}
		short := *mistake
		short.Key = strings.TrimPrefix(strings.TrimPrefix(mistake.Key, s.Place.Key), ".")
		e.Err = &short
	}
	return e
}

// Error gives file, line, server and reason: mcp.json:3: server "files": connection closed. If the
// reason names the server, as errors of package adapter do, it is named once.
func (e *ServerError) Error() string {
	server := fmt.Sprintf("server %q: ", e.Name)
	reason := strings.TrimPrefix(e.Err.Error(), server)
	if mistake, ok := e.Err.(*Error); ok {
		if reason = mistake.Reason; mistake.Key != "" {
			reason = mistake.Key + ": " + reason
		}
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, server, reason)
}

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.Err }
