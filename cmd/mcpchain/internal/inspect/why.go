package inspect

import "github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"

// why returns why a server cannot be used, with a remedy if one is known, and its place in the
// file.
func (s *serverReport) why(err error) error { return s.entry.Annotate(s.explain(err)) }

// explain returns the error of a server or a call, with a remedy if one is known.
func (s *serverReport) explain(err error) error {
	return reason.Server{Transport: s.entry.Transport, Timeout: s.timeout}.Explain(err)
}
