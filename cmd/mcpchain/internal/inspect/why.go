package inspect

import "github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"

// why is why a server cannot be used, with what helps, if that is known, and its place in the file.
func (s *serverReport) why(err error) error { return s.entry.At(s.explain(err)) }

// explain is an error of a server or a call, with what helps, if that is known.
func (s *serverReport) explain(err error) error {
	return reason.Server{Transport: s.entry.Transport, Timeout: s.timeout}.Explain(err)
}
