// Package reason explains why a server cannot be used, and what helps, to people who do not program.
package reason

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxCause bounds a technical cause behind an explanation, in characters.
const maxCause = 500

// Server is a server that may fail to connect.
type Server struct {
	Transport mcpclient.Transport
	Timeout   time.Duration // the limit for connecting, by -connect-timeout
}

// Explain returns an error that explains why a connection or a call failed, and wraps err. An error
// that it cannot explain is returned unchanged.
func (s Server) Explain(err error) error {
	if explained := signin.Explain(err); explained != err {
		return explained
	}
	if text := s.explain(err); text != "" {
		return &explained{text, err}
	}
	return err
}

// explained gives an error another text.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// explain returns the explanation of an error, "" for none.
func (s Server) explain(err error) string {
	process, isProcess := errors.AsType[*transport.ProcessError](err)
	status, isStatus := errors.AsType[*transport.HTTPError](err)
	rpc, isRPC := errors.AsType[*mcp.RPCError](err)
	timeout, isTimeout := errors.AsType[*mcpclient.TimeoutError](err)
	other, isOther := errors.AsType[*mcpclient.RevisionError](err)
	switch {
	case isProcess && errors.Is(err, mcpclient.ErrClosed):
		return explainExit(process, err)
	case isProcess:
		return process.Status
	case isTimeout:
		return timeoutText(timeout)
	case errors.Is(err, context.DeadlineExceeded):
		return s.explainSilence(err)
	case isStatus:
		return explainStatus(status)
	case isOther && len(other.ClientRevisions) == 1:
		return fmt.Sprintf("the server does not speak the protocol revision that is asked of it: "+
			"take away -revision, and \"revision\" in the file (%s)", hosttext.Line(other.Error(), maxCause))
	case isOther:
		return fmt.Sprintf("the server speaks other revisions of the protocol: is there a newer version of it? (%s)",
			hosttext.Line(other.Error(), maxCause))
	case errors.Is(err, mcp.ErrInvalidResult):
		return s.explainInvalidResult(err)
	case isRPC:
		return fmt.Sprintf("the server refuses to begin: %v; its operator may know why", rpc)
	}
	return explainNetwork(err)
}

// ExplainTimeout explains that a call took too long. It returns other errors unchanged.
func ExplainTimeout(err error) error {
	if timeout, ok := errors.AsType[*mcpclient.TimeoutError](err); ok {
		return &explained{timeoutText(timeout), err}
	}
	return err
}

// timeoutText names the flag that gives a call more time.
func timeoutText(e *mcpclient.TimeoutError) string {
	if e.Idle {
		return fmt.Sprintf("neither an answer nor progress within %v; "+
			"-idle-timeout gives it longer, or the server's \"timeout\" in the file", e.Limit)
	}
	return fmt.Sprintf("no answer within %v; -call-timeout gives it longer", e.Limit)
}

// explainInvalidResult explains an answer that violates the protocol.
func (s Server) explainInvalidResult(err error) string {
	advice := "what answers at the URL does not speak MCP: check the URL, above all its path"
	if _, isCommand := s.Transport.(*mcpclient.Command); isCommand {
		advice = "the program does not speak MCP as it is specified: is there a newer version of it?"
	}
	for cause := errors.Unwrap(err); cause != nil && cause != mcp.ErrInvalidResult; cause = errors.Unwrap(cause) {
		err = cause // drops the name of the operation
	}
	return fmt.Sprintf("%s (%s)", advice, hosttext.Line(err.Error(), maxCause))
}

// explainExit explains the end of a server's process.
func explainExit(p *transport.ProcessError, err error) string {
	text := fmt.Sprintf("the program %q came to its end: %s", p.Command, p.Status)
	if server, ok := errors.AsType[*transport.ServerError](err); ok && server.Skipped != "" {
		text += fmt.Sprintf("; what it wrote to standard output is no message of a server: %q", server.Skipped)
	}
	if p.Stderr == "" {
		return text + "; it did not say why: run its command and args in a terminal"
	}
	return text + "; it wrote to stderr:\n" + p.Stderr
}

// explainSilence explains why a server was not ready in time.
func (s Server) explainSilence(err error) string {
	subject := "the server"
	c, isCommand := s.Transport.(*mcpclient.Command)
	if isCommand {
		subject = fmt.Sprintf("the program %q runs, but", c.Path)
	}
	text := fmt.Sprintf("%s gave no answer within %v (-connect-timeout)", subject, s.Timeout)
	var skipped, stderr string
	if server, ok := errors.AsType[*transport.ServerError](err); ok {
		skipped, stderr = server.Skipped, server.Stderr
	}
	switch {
	case isCommand && isInstaller(c.Path):
		text += fmt.Sprintf("; the first start by %s installs the server: try -connect-timeout 3m",
			hosttext.Line(filepath.Base(c.Path), 100))
	case skipped != "":
		text += fmt.Sprintf("; what it writes to standard output is no message of a server: %q: "+
			"does it need another argument to speak MCP there?", skipped)
	case isCommand:
		text += "; is it an MCP server, and one that speaks over standard input and output?"
	default:
		text += "; " + checkURL
	}
	if stderr != "" {
		text += "; it wrote to stderr:\n" + stderr
	}
	return text
}

// installers are commands that install a server at its first start.
var installers = []string{"npx", "uvx", "bunx", "pnpx"}

// isInstaller reports whether a command installs a server at its first start.
func isInstaller(program string) bool {
	name := filepath.Base(program)
	return slices.Contains(installers, strings.TrimSuffix(name, filepath.Ext(name)))
}
