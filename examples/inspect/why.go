package main

import "github.com/mcpchain/mcpchain/examples/internal/reason"

// why is why a server cannot be used, with what helps, if that is known.
func (s *serverReport) why(err error) error {
	server := reason.Server{Transport: s.entry.Transport, Timeout: s.timeout, Flag: "-timeout"}
	return s.entry.At(server.Explain(err))
}
