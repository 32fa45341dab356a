package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/examples/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// installers are programs that install a server when it is started for the first time.
var installers = []string{"npx", "uvx", "bunx", "pnpx"}

// explained is an error with more to say.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// why is why a server cannot be used, with what helps, if that is known.
func (s *serverReport) why(err error) error {
	err = signin.Explain(err)
	text := strings.ReplaceAll(err.Error(), "(Options.ConnectTimeout)", "(-timeout)")
	network, _ := errors.AsType[*net.OpError](err)
	switch {
	case s.installs() && errors.Is(err, context.DeadlineExceeded):
		text += "; the first start by " + line(filepath.Base(s.program())) + " installs the server: try -timeout 3m"
	case network != nil && network.Op == "dial":
		text += "; is the server running? check the URL"
	}
	return s.entry.At(&explained{text, err})
}

// program is the program that starts the server, or "".
func (s *serverReport) program() string {
	if c, ok := s.entry.Transport.(*mcpclient.Command); ok {
		return c.Path
	}
	return ""
}

func (s *serverReport) installs() bool {
	name := filepath.Base(s.program())
	return slices.Contains(installers, strings.TrimSuffix(name, filepath.Ext(name)))
}
